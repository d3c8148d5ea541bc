package main

import (
	"bufio"
	"fmt"
	"log/slog"
	"net/netip"
	"os"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"routerd/control/rib"
	"routerd/dataplane"
	"routerd/fib"
	"routerd/fib/realtable"
	"routerd/platform"
)

// churn is the control process of -gap: a RIB that loads the whole table from one peer and
// drops it again, from a line "busy" to a line "idle" on its standard input. It keeps the
// next hops that the forwarding process knows.
func churn() error {
	var memory [3][]byte
	for i, size := range []int{fib.TableSize(), fib.WriterSize(), dataplane.StateSize()} {
		m, err := platform.OpenSharedMemory(3+i, size, i < 2)
		if err != nil {
			return err
		}
		memory[i] = m.Bytes()
	}
	state, err := dataplane.OpenState(memory[2])
	if err != nil {
		return err
	}
	w, err := fib.NewWriter(memory[0], memory[1], fib.Options{Epochs: state.Epochs()})
	if err != nil {
		return err
	}
	prefixes, err := realtable.Prefixes()
	if err != nil {
		return err
	}
	for i := range nextHops {
		h := newHop(i, 4)
		if _, err := w.AcquireNextHop(fib.NextHop{Action: fib.ActionForward, Port: uint16(h.port), Gateway: h.gateway}); err != nil {
			return err
		}
	}
	r := rib.New(rib.Options{Log: slog.New(slog.DiscardHandler)})
	r.SetPorts(controlPorts())
	r.Attach(w)
	fmt.Println("attached")
	return serve(r, prefixes)
}

func controlPorts() (ports []rib.Port) {
	for i := range uint16(4) {
		own := netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 0, byte(i), 254}), 24)
		ports = append(ports, rib.Port{Index: i, Name: fmt.Sprintf("loop%d", i), Up: true, Addresses: []netip.Prefix{own}})
	}
	return ports
}

// serve obeys the lines on standard input until they end.
func serve(r *rib.RIB, prefixes []netip.Prefix) error {
	lines := bufio.NewScanner(os.Stdin)
	l := &loader{rib: r}
	l.gate.Lock()
	go l.run(prefixes)
	for busy := false; lines.Scan(); {
		if next := lines.Text() == "busy"; next != busy {
			if busy = next; busy {
				l.gate.Unlock()
			} else {
				l.gate.Lock()
			}
		}
		var m runtime.MemStats
		if !busy {
			runtime.ReadMemStats(&m)
		}
		fmt.Printf("%d prefixes announced or withdrawn, %d collections\n", l.updates.Load(), m.NumGC)
	}
	return lines.Err()
}

var peer = netip.AddrFrom4([4]byte{10, 0, 0, 2})

// loader loads and drops the table again and again, a step each time it gets the gate.
type loader struct {
	rib     *rib.RIB
	gate    sync.Mutex
	updates atomic.Int64
}

func (l *loader) run(prefixes []netip.Prefix) {
	const step = 1000 // prefixes handed over at once
	for load := true; ; load = !load {
		for some := range slices.Chunk(prefixes, step) {
			l.gate.Lock()
			l.rib.UpdateBGP(changes(some, load))
			l.gate.Unlock()
			l.updates.Add(int64(len(some)))
		}
	}
}

// changes announces prefixes, with attributes of their own for each thirteen, about as many
// as in a real table, or withdraws them.
func changes(prefixes []netip.Prefix, announce bool) []rib.Change {
	all := make([]rib.Change, 0, len(prefixes))
	var attributes *int
	for i, p := range prefixes {
		if !announce {
			all = append(all, rib.Change{Prefix: p, Peer: peer})
			continue
		}
		if i%13 == 0 {
			attributes = new(int)
		}
		path := &rib.Path{PeerAS: 64500, PeerID: peer, NextHop: newHop(hashed(p), 4).gateway, Attrs: attributes}
		path.LocalPref, path.PathLen = 100, 3
		all = append(all, rib.Change{Prefix: p, Peer: peer, Path: path})
	}
	return all
}
