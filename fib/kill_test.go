//go:build unix && !race

package fib

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"syscall"
	"testing"
)

const victimEnv = "ROUTERD_FIB_VICTIM" // directory of the process to be killed

// A process changes a FIB as fast as it can and is killed in the middle of it.
// The next writer must find every finished operation, and the one that was under
// way either done or not done.
func TestKilledWriter(t *testing.T) {
	rounds := 6
	if testing.Short() {
		rounds = 2
	}
	dir := t.TempDir()
	table, writer, log, err := mapVictim(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := Format(table, writer); err != nil {
		t.Fatal(err)
	}
	truth := gatewayList{}
	r := rand.New(rand.NewPCG(10, 11))
	for seed := range uint64(rounds) {
		finished, started := killVictim(t, dir, seed, log, 500+r.Uint64N(6000))
		steps := newVictimSteps(seed)
		for range finished {
			steps.next().apply(truth)
		}
		w, reader := attach(t, table, writer, Options{})
		got := gatewayList{}
		model := slowList{}
		for p, g := range w.All() {
			got[p] = reader.NextHop(members(reader, g)[0]).Gateway
			model[p] = g
		}
		if started > finished && !maps.Equal(truth, got) {
			steps.next().apply(truth)
		}
		if !maps.Equal(truth, got) {
			t.Fatalf("round %d, %d steps finished, %d started: %d prefixes, want %d", seed, finished, started, len(got), len(truth))
		}
		checkAll(t, w, model)
		noLeaks(t, w, model)
	}
}

type gatewayList map[netip.Prefix]netip.Addr

// victimStep sets a prefix, moves it by changing its group, or deletes it.
type victimStep struct {
	kind    int
	prefix  netip.Prefix
	gateway netip.Addr
}

func (s victimStep) apply(l gatewayList) {
	if _, there := l[s.prefix]; s.kind == 0 {
		delete(l, s.prefix)
	} else if there || s.kind != 1 {
		l[s.prefix] = s.gateway
	}
}

func (s victimStep) do(w *Writer) error {
	switch s.kind {
	case 0:
		_, err := w.Delete(s.prefix)
		return err
	case 1:
		g, ok := w.Get(s.prefix)
		if !ok {
			return nil
		}
		return s.with(w, func(i uint16) error { return w.SetGroup(g, []uint16{i}) })
	default:
		return s.with(w, func(i uint16) error {
			g, err := w.NewGroup([]uint16{i})
			if err != nil {
				return err
			}
			defer w.FreeGroup(g)
			return w.Set(s.prefix, g)
		})
	}
}

func (s victimStep) with(w *Writer, f func(uint16) error) error {
	i, err := w.AcquireNextHop(NextHop{Action: ActionForward, Gateway: s.gateway})
	if err != nil {
		return err
	}
	defer w.ReleaseNextHop(i)
	return f(i)
}

type victimSteps struct{ r *rand.Rand }

func newVictimSteps(seed uint64) victimSteps {
	return victimSteps{rand.New(rand.NewPCG(seed, 12))}
}

func (s victimSteps) next() victimStep {
	return victimStep{s.r.IntN(4), randomPrefix(s.r), addrOf(s.r.Uint32N(1000))}
}

// victimLog is shared between the victim and its killer.
type victimLog struct{ started, finished atomic.Uint64 }

func mapVictim(dir string) (table, writer []byte, log *victimLog, err error) {
	if table, err = mapFile(filepath.Join(dir, "table"), TableSize()); err != nil {
		return nil, nil, nil, err
	}
	if writer, err = mapFile(filepath.Join(dir, "writer"), WriterSize()); err != nil {
		return nil, nil, nil, err
	}
	page, err := mapFile(filepath.Join(dir, "log"), 4096)
	if err != nil {
		return nil, nil, nil, err
	}
	return table, writer, overlay[victimLog](page, 0), nil
}

func mapFile(name string, size int) ([]byte, error) {
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if err := f.Truncate(int64(size)); err != nil {
		return nil, err
	}
	return syscall.Mmap(int(f.Fd()), 0, size, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED)
}

// killVictim kills a new victim soon after its step number at.
func killVictim(t *testing.T, dir string, seed uint64, log *victimLog, at uint64) (finished, started uint64) {
	t.Helper()
	log.started.Store(0)
	log.finished.Store(0)
	victim := exec.Command(os.Args[0])
	victim.Env = append(os.Environ(), victimEnv+"="+dir, fmt.Sprintf("%s_SEED=%d", victimEnv, seed), fmt.Sprintf("%s_STEP=%d", victimEnv, at))
	victim.Stderr = os.Stderr
	stdout, err := victim.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := victim.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := stdout.Read(make([]byte, 1)); err != nil {
		t.Fatal("the victim ended by itself")
	}
	if err := victim.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = victim.Wait()
	return log.finished.Load(), log.started.Load()
}

// TestMain runs the tests, or is the process that TestKilledWriter kills.
func TestMain(m *testing.M) {
	dir := os.Getenv(victimEnv)
	if dir == "" {
		os.Exit(m.Run())
	}
	number := func(name string) uint64 {
		n, _ := strconv.ParseUint(os.Getenv(victimEnv+name), 10, 64)
		return n
	}
	if err := churnUntilKilled(dir, number("_SEED"), number("_STEP")); err != nil {
		fmt.Fprintln(os.Stderr, "victim:", err)
	}
	os.Exit(1)
}

// churnUntilKilled writes a byte to stdout at one step and goes on.
func churnUntilKilled(dir string, seed, step uint64) error {
	table, writer, log, err := mapVictim(dir)
	if err != nil {
		return err
	}
	reader := &fakeEpochs{}
	w, err := NewWriter(table, writer, Options{Epochs: reader})
	if err != nil {
		return err
	}
	for steps := newVictimSteps(seed); ; {
		if log.started.Add(1) == step {
			fmt.Print(".")
		}
		if err := steps.next().do(w); err != nil {
			return err
		}
		reader.step()
		log.finished.Add(1)
	}
}
