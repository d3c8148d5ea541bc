package dataplane

import (
	"errors"
	"sync"
	"sync/atomic"
	"testing"

	"pgregory.net/rapid"

	"routerd/dataplane/packet"
)

func (g *gleans) put(t testing.TB, addr uint32, port int, mac packet.MAC) {
	t.Helper()
	if _, err := g.insert(addr, port, func(a *adjacency) { a.setReady(mac, packet.MAC{}, port, 1500) }); err != nil {
		t.Fatal(err)
	}
}

func macOf(a *adjacency) packet.MAC {
	h := a.header()
	return packet.MAC(h[:6])
}

func macFor(addr uint32, n byte) packet.MAC {
	return packet.MAC{2, n, byte(addr >> 24), byte(addr >> 16), byte(addr >> 8), byte(addr)}
}

func TestGleansAreAMap(t *testing.T) {
	type key struct {
		addr uint32
		port int
	}
	rapid.Check(t, func(rt *rapid.T) {
		g, model := new(gleans), make(map[key]packet.MAC)
		keys := rapid.Custom(func(rt *rapid.T) key {
			return key{rapid.Uint32Range(1, 40).Draw(rt, "addr"), rapid.IntRange(0, 2).Draw(rt, "port")}
		})
		for range rapid.IntRange(1, 300).Draw(rt, "steps") {
			k := keys.Draw(rt, "key")
			switch _, ok := model[k]; {
			case rapid.IntRange(0, 40).Draw(rt, "sweep") == 0:
				g.sweep()
			case ok:
				g.remove(k.addr, k.port)
				delete(model, k)
			default:
				model[k] = macFor(k.addr, byte(k.port))
				g.put(t, k.addr, k.port, model[k])
			}
			k = keys.Draw(rt, "looked up")
			slot, _ := g.find(k.addr, k.port)
			if mac, ok := model[k]; (slot != nil) != ok || ok && macOf(&slot.adjacency) != mac {
				rt.Fatalf("%v: found %v, want %v", k, slot != nil, ok)
			}
		}
		if g.used != len(model) {
			rt.Fatalf("%d used, %d in the model", g.used, len(model))
		}
	})
}

func TestGleansAreBoundedAndSearchesEnd(t *testing.T) {
	g := new(gleans)
	for i := range uint32(maxGleans) {
		g.put(t, i+1, 0, packet.MAC{2})
	}
	if _, err := g.insert(1<<30, 0, func(*adjacency) {}); !errors.Is(err, errGleansFull) {
		t.Errorf("one more than fits: %v", err)
	}
	// Come and go for long: what searches have to pass stays bounded.
	for i := range uint32(50_000) {
		g.remove(i+1, 0)
		g.put(t, i+1+maxGleans, 0, packet.MAC{2})
	}
	if slot, _ := g.find(1<<31, 3); slot != nil || g.gone > gleanSlots/4+1 {
		t.Errorf("found %v, %d gone", slot != nil, g.gone)
	}
}

// A worker that reads a slot while it changes hands sees the neighbour it asked for, or
// that it has to ask again.
func TestReaderNeverSeesAnothersNeighbour(t *testing.T) {
	g := new(gleans)
	var stop atomic.Bool
	var wg sync.WaitGroup
	for r := range 2 {
		wg.Go(func() {
			for i := uint32(r); !stop.Load(); i++ {
				addr := i%7 + 1
				slot, key := g.find(addr, 0)
				if slot == nil {
					continue
				}
				mac := macOf(&slot.adjacency)
				if slot.key.Load() == key && (mac[0] != 2 || macFor(addr, mac[1]) != mac) {
					t.Errorf("asked for %d, got %v", addr, mac)
					return
				}
			}
		})
	}
	for i := range uint32(30_000) {
		addr := i%7 + 1
		if slot, _ := g.find(addr, 0); slot != nil {
			g.remove(addr, 0)
		} else {
			g.put(t, addr, 0, macFor(addr, byte(i)))
		}
		if i%5000 == 0 {
			g.sweep()
		}
	}
	stop.Store(true)
	wg.Wait()
}
