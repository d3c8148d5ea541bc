package rib

import (
	"fmt"
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"routerd/fib"
)

func TestRestartSweepsOnlyWhatWasNotRelearned(t *testing.T) {
	before := newTestRIB(t, Options{})
	before.SetPorts(twoPorts())
	before.UpdateBGP([]Change{
		change("8.8.8.0/24", "198.51.100.1", ebgp("198.51.100.1")),
		change("9.9.9.0/24", "198.51.100.1", ebgp("198.51.100.1")),
		change("1.1.1.0/24", "198.51.100.1", ebgp("198.51.100.1")),
	})
	f := before.fib
	f.restart()

	r := newTestRIB(t, Options{})
	r.fib = f
	if found := r.Attach(f); found != len(twoPortsFIB)+3 {
		t.Errorf("found %d prefixes", found)
	}
	r.wantFIB(before.fib.routes())

	r.SetPorts(twoPorts())
	r.UpdateBGP([]Change{
		change("8.8.8.0/24", "192.0.2.9", ebgp("192.0.2.9")),
		change("1.1.1.0/24", "192.0.2.9", ebgp("203.0.113.1")), // does not resolve
	})
	kept := map[string]string{"9.9.9.0/24": "198.51.100.1@1", "1.1.1.0/24": "198.51.100.1@1", "8.8.8.0/24": "192.0.2.9@2"}
	r.wantFIB(with(kept))
	if got := r.Status(); got.Stale != 2 || got.InFIB != len(twoPortsFIB)+1 {
		t.Errorf("status %+v", got)
	}
	if swept := r.Sweep(); swept != 2 {
		t.Errorf("swept %d", swept)
	}
	r.wantFIB(with(map[string]string{"8.8.8.0/24": "192.0.2.9@2"}))

	r.DropPeer(addr("192.0.2.9"))
	r.SetPorts(nil)
	r.wantEmpty()
}

func TestEmptyFIBIsFilled(t *testing.T) {
	r := newTestRIB(t, Options{})
	r.SetPorts(twoPorts())
	r.UpdateBGP([]Change{change("8.8.8.0/24", "198.51.100.1", ebgp("198.51.100.1"))})
	r.Detach()
	old := r.fib.routes()
	r.UpdateBGP([]Change{change("9.9.9.0/24", "198.51.100.1", ebgp("198.51.100.1"))})
	if diff := cmp.Diff(old, r.fib.routes()); diff != "" {
		t.Errorf("a detached FIB changed:\n%s", diff)
	}
	if s := r.Status(); s.Attached || s.InFIB != 0 || s.EBGP != 2 {
		t.Errorf("status %+v", s)
	}
	r.fib = newFakeFIB(t)
	r.Attach(r.fib)
	r.wantFIB(with(map[string]string{"8.8.8.0/24": "198.51.100.1@1", "9.9.9.0/24": "198.51.100.1@1"}))
}

func TestRefusedRoutesAreListedAndRetried(t *testing.T) {
	for _, call := range []string{"Set", "NewGroup", "AcquireNextHop"} {
		t.Run(call, func(t *testing.T) {
			full := fmt.Errorf("%w: 32767 of 32767 in use", fib.ErrExtendedFull)
			r := newTestRIB(t, Options{})
			r.SetPorts(twoPorts())
			r.UpdateBGP([]Change{change("8.8.8.0/24", "198.51.100.1", ebgp("198.51.100.1"))})
			r.fib.refuse = func(name string) error {
				if name == call {
					return full
				}
				return nil
			}
			r.UpdateBGP([]Change{
				change("8.8.8.0/24", "192.0.2.9", func() *Path { p := ebgp("192.0.2.9"); p.LocalPref = 200; return p }()),
				change("9.9.9.0/24", "192.0.2.9", ebgp("192.0.2.9")),
			})
			r.wantFIB(twoPortsFIB) // neither forwards to what was before
			want := []Failure{{prefix("8.8.8.0/24"), full}, {prefix("9.9.9.0/24"), full}}
			if diff := cmp.Diff(want, r.Failures(10), cmpopts.EquateErrors(), cmpopts.EquateComparable(netip.Prefix{})); diff != "" {
				t.Errorf("failures (-want +got):\n%s", diff)
			}
			if s := r.Status(); s.Failed != 2 || s.EBGP != 2 || s.InFIB != len(twoPortsFIB) {
				t.Errorf("status %+v", s)
			}
			route, _ := r.Get(prefix("9.9.9.0/24"))
			if route.InFIB || route.Problem != "not in FIB: "+full.Error() {
				t.Errorf("route says in FIB %v, problem %q", route.InFIB, route.Problem)
			}

			r.fib.refuse = nil
			r.UpdateBGP([]Change{change("1.0.0.0/8", "192.0.2.9", ebgp("203.0.113.1"))}) // any change
			r.wantFIB(with(map[string]string{"8.8.8.0/24": "192.0.2.9@2", "9.9.9.0/24": "192.0.2.9@2"}))
			if s := r.Status(); s.Failed != 0 {
				t.Errorf("status %+v", s)
			}
		})
	}
}

// Where groups run short a route goes without its backup rather than without a
// group.
func TestBackupIsGivenUpForRoom(t *testing.T) {
	r := newTestRIB(t, Options{})
	r.SetPorts(twoPorts())
	worse := ebgp("192.0.2.9")
	worse.LocalPref = 50
	r.UpdateBGP([]Change{change("8.8.8.0/24", "198.51.100.1", ebgp("198.51.100.1"))})
	r.fib.maxGroups = len(r.fib.groups)
	r.UpdateBGP([]Change{
		change("9.9.9.0/24", "198.51.100.1", ebgp("198.51.100.1")),
		change("9.9.9.0/24", "192.0.2.9", worse),
	})
	r.wantFIB(with(map[string]string{"8.8.8.0/24": "198.51.100.1@1", "9.9.9.0/24": "198.51.100.1@1"}))
}

// A group whose new next hops the FIB refuses drops, says so, and recovers.
func TestRefusedRepair(t *testing.T) {
	full := fmt.Errorf("%w: 32767 of 32767 in use", fib.ErrNextHopsFull)
	r := newTestRIB(t, Options{})
	r.SetPorts(twoPorts())
	r.SetStatics([]StaticRoute{static("10.0.0.0/8", "172.16.0.1"), static("172.16.0.0/16", "198.51.100.1")})
	r.fib.refuse = func(name string) error {
		if name == "AcquireNextHop" {
			return full
		}
		return nil
	}
	r.SetStatics([]StaticRoute{static("10.0.0.0/8", "172.16.0.1"), static("172.16.0.0/16", "192.0.2.9")})
	route, _ := r.Get(prefix("10.0.0.0/8"))
	if want := "its next hops are not in FIB: " + full.Error(); route.Problem != want {
		t.Errorf("problem %q, want %q", route.Problem, want)
	}
	if s := r.Status(); s.Dropping != 1 || s.Failed != 1 {
		t.Errorf("status %+v", s)
	}
	if got := r.fib.routes()["10.0.0.0/8"]; got != "" {
		t.Errorf("forwards to %q", got)
	}
	r.fib.refuse = nil
	r.SetMultipath(2)
	r.wantFIB(with(map[string]string{"10.0.0.0/8": "192.0.2.9@2", "172.16.0.0/16": "192.0.2.9@2"}))
	if s := r.Status(); s.Dropping != 0 || s.Failed != 0 {
		t.Errorf("status %+v", s)
	}
}

func TestAudit(t *testing.T) {
	r := newTestRIB(t, Options{})
	r.SetPorts(twoPorts())
	r.UpdateBGP([]Change{
		change("8.8.8.0/24", "198.51.100.1", ebgp("198.51.100.1")),
		change("9.9.9.0/24", "198.51.100.1", ebgp("192.0.2.9")),
		change("7.7.7.0/24", "198.51.100.1", ebgp("203.0.113.1")),
	})
	want := r.fib.routes()

	if _, err := r.fib.Delete(prefix("8.8.8.0/24")); err != nil {
		t.Fatal(err)
	}
	wrong, _ := r.fib.Get(prefix("192.0.2.0/24"))
	for _, p := range []string{"9.9.9.0/24", "7.7.7.0/24"} {
		if err := r.fib.Set(prefix(p), wrong); err != nil {
			t.Fatal(err)
		}
	}
	var total Audited
	for !total.Wrapped {
		a := r.Audit(2)
		total = Audited{total.Checked + a.Checked, total.Repaired + a.Repaired, a.Wrapped}
	}
	if diff := cmp.Diff(Audited{Checked: len(want) + 1, Repaired: 3, Wrapped: true}, total); diff != "" {
		t.Errorf("audit (-want +got):\n%s", diff)
	}
	r.wantFIB(want)
	if s := r.Status(); s.InFIB != len(want) {
		t.Errorf("status %+v", s)
	}
	if a := r.Audit(1000); a.Repaired != 0 || !a.Wrapped {
		t.Errorf("second audit %+v", a)
	}
}
