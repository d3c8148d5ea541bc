package main

import (
	"net/netip"

	"routerd/control/bgp"
	"routerd/control/rib"
)

// bgpSink is where BGP's routes go: straight into the RIB, in the order of BGP.
type bgpSink struct{ *router }

var _ bgp.Sink = bgpSink{}

// Routes implements bgp.Sink.
func (r bgpSink) Routes(changes []bgp.Change) {
	out := make([]rib.Change, len(changes))
	for i, c := range changes {
		out[i] = rib.Change{Prefix: c.Prefix, Peer: c.Peer, Path: ribPath(c.Path)}
	}
	r.rib.UpdateBGP(out)
}

func ribPath(p *bgp.Path) *rib.Path {
	if p == nil {
		return nil
	}
	a := p.Attrs
	return &rib.Path{
		PeerAS: p.PeerAS, PeerID: p.PeerID, Internal: p.Internal, NextHop: p.NextHop,
		Preference: rib.Preference{LocalPref: a.LocalPref, PathLen: a.PathLen, Origin: a.Origin, NeighborAS: a.NeighborAS, MED: a.MED},
		Attrs:      a,
	}
}

// EndOfRIB implements bgp.Sink. The last one awaited after a restart lets the sweep begin.
func (r bgpSink) EndOfRIB(peer netip.Addr) {
	r.log.Info("neighbor has sent its whole table", "neighbor", peer)
	r.mu.RLock()
	l := r.unswept
	r.mu.RUnlock()
	if l != nil && l.done(peer) {
		go r.do(r.sweepNow)
	}
}

// PeerUp implements bgp.Sink.
func (r bgpSink) PeerUp(netip.Addr, uint32, netip.Addr) {}

// PeerRestarts implements bgp.Sink: the peer's forwarding goes on, and so does ours to it.
func (r bgpSink) PeerRestarts(peer netip.Addr) { r.rib.MarkPeerStale(peer) }

// SweepPeer implements bgp.Sink.
func (r bgpSink) SweepPeer(peer netip.Addr) { r.rib.SweepPeer(peer) }

// PeerDown implements bgp.Sink: traffic leaves the lost paths at once.
func (r bgpSink) PeerDown(peer netip.Addr, _ string) { r.rib.DropPeer(peer) }

// localRoutes hands connected and static prefixes to BGP, where export policies choose.
func (r *router) localRoutes(prefixes []netip.Prefix) {
	if r.bgp != nil {
		r.bgp.Announce(prefixes)
	}
}
