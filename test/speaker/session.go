package main

import (
	"context"
	"fmt"
	"log/slog"
	"net/netip"
	"slices"
	"time"

	"github.com/osrg/gobgp/v4/api"
	"github.com/osrg/gobgp/v4/pkg/apiutil"
	"github.com/osrg/gobgp/v4/pkg/packet/bgp"
	"github.com/osrg/gobgp/v4/pkg/server"
)

type options struct {
	as, neighborAS     uint32
	id, listen         netip.Addr
	neighbor, nextHop  netip.Addr
	port, neighborPort int
	passive            bool
	prefixes           []netip.Prefix
}

// speaker is one GoBGP server with one neighbour.
type speaker struct {
	server  *server.BgpServer
	paths   []*apiutil.Path
	unwatch context.CancelFunc
}

const pathsPerCall = 4096 // GoBGP holds its lock for a whole call

// open starts the session and announces the prefixes.
func open(ctx context.Context, log *slog.Logger, o options) (*speaker, error) {
	s := &speaker{server: server.NewBgpServer(server.LoggerOption(log, new(slog.LevelVar)))}
	go s.server.Serve()
	err := s.server.StartBgp(ctx, &api.StartBgpRequest{Global: &api.Global{
		Asn: o.as, RouterId: o.id.String(),
		ListenPort: int32(o.port), ListenAddresses: []string{o.listen.String()},
	}})
	if err != nil {
		return nil, err
	}
	if s.paths, err = paths(o); err != nil {
		return nil, err
	}
	if err := s.tell(false); err != nil {
		return nil, err
	}
	watch, unwatch := context.WithCancel(context.Background())
	s.unwatch = unwatch
	err = s.server.WatchEvent(watch, server.WatchEventMessageCallbacks{
		OnPeerUpdate: printPeer(),
		OnPathUpdate: printPaths,
		OnPathEor:    func(p *apiutil.Path, _ time.Time) { fmt.Println("end-of-rib", p.PeerAddress) },
	}, server.WatchPeer(), server.WatchUpdate(false, "", ""), server.WatchEor(false))
	if err != nil {
		return nil, err
	}
	return s, s.server.AddPeer(ctx, &api.AddPeerRequest{Peer: neighbor(o)})
}

// neighbor asks for graceful restart only since GoBGP sends End-of-RIB with it
// alone; the time of a second keeps nobody waiting for a dead speaker.
func neighbor(o options) *api.Peer {
	return &api.Peer{
		Conf: &api.PeerConf{NeighborAddress: o.neighbor.String(), PeerAsn: o.neighborAS},
		Transport: &api.Transport{
			LocalAddress: o.listen.String(), RemotePort: uint32(o.neighborPort), PassiveMode: o.passive,
		},
		Timers:          &api.Timers{Config: &api.TimersConfig{ConnectRetry: 1, IdleHoldTimeAfterReset: 1}},
		GracefulRestart: &api.GracefulRestart{Enabled: true, RestartTime: 1},
		AfiSafis: []*api.AfiSafi{{
			Config: &api.AfiSafiConfig{
				Family:  &api.Family{Afi: api.Family_AFI_IP, Safi: api.Family_SAFI_UNICAST},
				Enabled: true,
			},
			MpGracefulRestart: &api.MpGracefulRestart{Config: &api.MpGracefulRestartConfig{Enabled: true}},
		}},
	}
}

func paths(o options) ([]*apiutil.Path, error) {
	nextHop, err := bgp.NewPathAttributeNextHop(o.nextHop)
	if err != nil {
		return nil, err
	}
	attrs := []bgp.PathAttributeInterface{bgp.NewPathAttributeOrigin(bgp.BGP_ORIGIN_ATTR_TYPE_IGP), nextHop}
	paths := make([]*apiutil.Path, len(o.prefixes))
	for i, prefix := range o.prefixes {
		nlri, err := bgp.NewIPAddrPrefix(prefix)
		if err != nil {
			return nil, err
		}
		paths[i] = &apiutil.Path{Family: bgp.RF_IPv4_UC, Nlri: nlri, Attrs: attrs}
	}
	return paths, nil
}

// tell announces all prefixes, or withdraws them.
func (s *speaker) tell(withdraw bool) error {
	for chunk := range slices.Chunk(s.paths, pathsPerCall) {
		var err error
		if withdraw {
			err = s.server.DeletePath(apiutil.DeletePathRequest{Paths: chunk})
		} else {
			_, err = s.server.AddPath(apiutil.AddPathRequest{Paths: chunk})
		}
		if err != nil {
			return err
		}
	}
	if withdraw {
		fmt.Println("withdrew", len(s.paths))
	} else {
		fmt.Println("announced", len(s.paths))
	}
	return nil
}

func (s *speaker) close() error {
	s.unwatch() // GoBGP leaks a watcher that outlives the server
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	return s.server.StopBgp(ctx, &api.StopBgpRequest{})
}

// printPeer prints the ways into and out of Established, not the states between.
func printPeer() func(*apiutil.WatchEventMessage_PeerEvent, time.Time) {
	up := false
	return func(e *apiutil.WatchEventMessage_PeerEvent, _ time.Time) {
		if e.Type != apiutil.PEER_EVENT_STATE {
			return
		}
		was := up
		up = e.Peer.State.SessionState == bgp.BGP_FSM_ESTABLISHED
		switch {
		case up && !was:
			fmt.Println("established", e.Peer.State.NeighborAddress)
		case was && !up:
			fmt.Println("down", e.Peer.State.NeighborAddress)
		}
	}
}

func printPaths(paths []*apiutil.Path, _ time.Time) {
	for _, p := range paths {
		if p.Withdrawal {
			fmt.Println("withdrawn", p.Nlri)
			continue
		}
		fmt.Println("learned", p.Nlri, "via", nextHopOf(p), "as-path", asPathOf(p))
	}
}

func nextHopOf(p *apiutil.Path) string {
	for _, a := range p.Attrs {
		if nh, ok := a.(*bgp.PathAttributeNextHop); ok {
			return nh.Value.String()
		}
	}
	return "-"
}

func asPathOf(p *apiutil.Path) string {
	for _, a := range p.Attrs {
		if path, ok := a.(*bgp.PathAttributeAsPath); ok {
			return bgp.AsPathString(path)
		}
	}
	return ""
}
