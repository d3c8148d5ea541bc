package rib

import "testing"

// Another router under a peer's address begins a new session: nothing of the old
// one stays.
func TestOtherNeighbourUnderOneAddress(t *testing.T) {
	r := newTestRIB(t, Options{})
	r.SetPorts(twoPorts())
	r.UpdateBGP([]Change{
		change("8.8.8.0/24", "198.51.100.1", ebgp("198.51.100.1")),
		change("9.9.9.0/24", "198.51.100.1", ebgp("198.51.100.1")),
	})
	other := ebgp("198.51.100.1")
	other.PeerID = addr("10.255.0.77")
	r.UpdateBGP([]Change{change("8.8.8.0/24", "198.51.100.1", other)})
	r.wantFIB(with(map[string]string{"8.8.8.0/24": "198.51.100.1@1"}))
	route, _ := r.Get(prefix("8.8.8.0/24"))
	if len(route.Candidates) != 1 || route.Candidates[0].Path.PeerID != other.PeerID {
		t.Errorf("candidates %+v", route.Candidates)
	}
}

func TestGracefulRestart(t *testing.T) {
	peer := addr("198.51.100.1")
	r := newTestRIB(t, Options{})
	r.SetPorts(twoPorts())
	r.UpdateBGP([]Change{
		change("8.8.8.0/24", "198.51.100.1", ebgp("198.51.100.1")),
		change("9.9.9.0/24", "198.51.100.1", ebgp("198.51.100.1")),
		change("1.1.1.0/24", "198.51.100.1", ebgp("198.51.100.1")),
	})
	all := r.fib.routes()
	r.MarkPeerStale(peer)
	r.wantFIB(all)
	if route, _ := r.Get(prefix("9.9.9.0/24")); !route.Candidates[0].Stale {
		t.Error("9.9.9.0/24 is not shown as stale")
	}
	r.UpdateBGP([]Change{
		change("8.8.8.0/24", "198.51.100.1", ebgp("198.51.100.1")),
		change("1.1.1.0/24", "198.51.100.1", nil),
	})
	r.SweepPeer(peer)
	r.wantFIB(with(map[string]string{"8.8.8.0/24": "198.51.100.1@1"}))
	r.DropPeer(peer)
	r.DropPeer(peer)
	r.SetPorts(nil)
	r.wantEmpty()
}

// Changes of one batch count in their order, and what is not IPv4 does not.
func TestBatch(t *testing.T) {
	r := newTestRIB(t, Options{})
	r.SetPorts(twoPorts())
	r.UpdateBGP([]Change{
		change("8.8.8.8/24", "198.51.100.1", ebgp("198.51.100.1")),
		change("9.9.9.0/24", "198.51.100.1", ebgp("198.51.100.1")),
		change("9.9.9.0/24", "198.51.100.1", nil),
		change("8.8.8.0/24", "198.51.100.1", ebgp("192.0.2.9")),
		change("7.7.7.0/24", "192.0.2.9", nil),
		change("2001:db8::/32", "192.0.2.9", ebgp("192.0.2.9")),
	})
	r.wantFIB(with(map[string]string{"8.8.8.0/24": "192.0.2.9@2"}))
}
