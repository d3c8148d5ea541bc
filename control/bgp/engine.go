package bgp

import (
	"context"
	"fmt"
	"log/slog"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/osrg/gobgp/v4/api"
	"github.com/osrg/gobgp/v4/pkg/apiutil"
	"github.com/osrg/gobgp/v4/pkg/packet/bgp"
	"github.com/osrg/gobgp/v4/pkg/server"
	"google.golang.org/protobuf/proto"
)

const (
	defaultPort     = 179
	defaultHoldTime = 90 * time.Second // GoBGP reads no KEEPALIVE for 10 s and more while it drops a full table
)

// engine is one run of GoBGP's server. Only the steward calls it: every method may
// take as long as GoBGP's longest update.
type engine struct {
	base       base
	srv        *server.BgpServer
	unwatch    context.CancelFunc
	peers      map[netip.Addr]peer // that GoBGP has
	policies   *api.SetPoliciesRequest
	originated map[netip.Prefix]bool
}

// base is what GoBGP can only be told at its start.
type base struct {
	as   uint32
	id   netip.Addr
	port int
}

// peer is what a session is opened with. Another value is another session.
type peer struct {
	address     netip.Addr
	as          uint32
	port        int
	passive     bool
	holdTime    time.Duration
	password    string
	ttlSecurity bool
	multihop    int
	restartTime time.Duration // graceful restart; 0: none
}

func startEngine(ctx context.Context, b base, listen []netip.Addr, policies *api.SetPoliciesRequest, in *inbox, log *slog.Logger) (*engine, error) {
	e := &engine{base: b, peers: make(map[netip.Addr]peer), originated: make(map[netip.Prefix]bool)}
	e.srv = server.NewBgpServer(server.LoggerOption(slog.New(newTap(log, in)), nil))
	go e.srv.Serve()
	addresses := make([]string, len(listen))
	for i, a := range listen {
		addresses[i] = a.String()
	}
	err := e.srv.StartBgp(ctx, &api.StartBgpRequest{Global: &api.Global{
		Asn: b.as, RouterId: b.id.String(), ListenPort: int32(b.port), ListenAddresses: addresses,
	}})
	if err != nil {
		e.stop(ctx)
		if strings.Contains(err.Error(), "address already in use") {
			return nil, fmt.Errorf("cannot listen on port %d of %s: another BGP daemon does; stop it, or set listen_port", b.port, strings.Join(addresses, ", "))
		}
		return nil, fmt.Errorf("cannot listen on port %d of %s: %w", b.port, strings.Join(addresses, ", "), err)
	}
	// Rejecting comes before the first neighbour.
	if err := e.setPolicies(ctx, policies); err != nil {
		e.stop(ctx)
		return nil, err
	}
	for direction, name := range map[api.PolicyDirection]string{
		api.PolicyDirection_POLICY_DIRECTION_IMPORT: engineImport,
		api.PolicyDirection_POLICY_DIRECTION_EXPORT: engineExport,
	} {
		err := e.srv.SetPolicyAssignment(ctx, &api.SetPolicyAssignmentRequest{Assignment: &api.PolicyAssignment{
			Name: "global", Direction: direction, DefaultAction: api.RouteAction_ROUTE_ACTION_REJECT,
			Policies: []*api.Policy{{Name: name}},
		}})
		if err != nil {
			e.stop(ctx)
			return nil, fmt.Errorf("cannot assign the %s policy: %w", name, err)
		}
	}
	watching, unwatch := context.WithCancel(context.Background())
	e.unwatch = unwatch
	err = e.srv.WatchEvent(watching, server.WatchEventMessageCallbacks{
		OnPeerUpdate: func(m *apiutil.WatchEventMessage_PeerEvent, at time.Time) { watched(in, m, at) },
	}, server.WatchPeer())
	if err != nil {
		e.stop(ctx)
		return nil, fmt.Errorf("cannot watch the engine: %w", err)
	}
	return e, nil
}

// watched turns one of GoBGP's peer events into an event of ours.
func watched(in *inbox, m *apiutil.WatchEventMessage_PeerEvent, at time.Time) {
	st := m.Peer.State
	if m.Type != apiutil.PEER_EVENT_STATE || !st.NeighborAddress.IsValid() {
		return
	}
	e := &stateEvent{established: st.SessionState == bgp.BGP_FSM_ESTABLISHED, id: st.RouterID}
	if i := int(st.SessionState); i >= 0 && i < len(stateNames) {
		e.name = stateNames[i]
	} else {
		e.name = "Idle"
	}
	e.restart = restartOf(st.RemoteCap)
	for _, c := range st.RemoteCap {
		e.capabilities = append(e.capabilities, c.Code().String())
	}
	slices.Sort(e.capabilities)
	e.capabilities = slices.Compact(e.capabilities)
	in.put(event{kind: sessionState, peer: st.NeighborAddress, at: at, state: e})
}

var stateNames = []string{"Idle", "Connect", "Active", "OpenSent", "OpenConfirm", "Established"}

// setPolicies replaces both policies at once. It changes nothing that was already
// sent or received: that takes a soft reset.
func (e *engine) setPolicies(ctx context.Context, p *api.SetPoliciesRequest) error {
	if e.policies != nil && proto.Equal(p, e.policies) {
		return nil
	}
	if err := e.srv.SetPolicies(ctx, proto.Clone(p).(*api.SetPoliciesRequest)); err != nil {
		return fmt.Errorf("the engine refused the policies: %w", err)
	}
	e.policies = p
	return nil
}

// message is p in GoBGP's words, admitted to sessions and without a limit of prefixes.
func (p peer) message() *api.Peer {
	hold := p.holdTime
	if hold == 0 {
		hold = defaultHoldTime
	}
	family := &api.Family{Afi: api.Family_AFI_IP, Safi: api.Family_SAFI_UNICAST}
	m := &api.Peer{
		Conf: &api.PeerConf{
			NeighborAddress: p.address.String(), PeerAsn: p.as, AuthPassword: p.password,
			// Loops are our business: GoBGP skips a looped announcement without
			// withdrawing the route it replaces (gobgp#2832).
			AllowOwnAsn: 255,
		},
		Timers: &api.Timers{Config: &api.TimersConfig{
			HoldTime: uint64(hold / time.Second), KeepaliveInterval: uint64(hold / time.Second / 3),
			ConnectRetry: 10, IdleHoldTimeAfterReset: 5,
		}},
		Transport: &api.Transport{PassiveMode: p.passive, RemotePort: uint32(p.port)},
		AfiSafis: []*api.AfiSafi{{
			Config:            &api.AfiSafiConfig{Family: family, Enabled: true},
			PrefixLimits:      &api.PrefixLimit{Family: family},
			MpGracefulRestart: &api.MpGracefulRestart{Config: &api.MpGracefulRestartConfig{Enabled: p.restartTime > 0}},
		}},
	}
	if seconds := uint32(p.restartTime / time.Second); seconds > 0 {
		m.GracefulRestart = &api.GracefulRestart{Enabled: true, RestartTime: seconds, DeferralTime: seconds}
	}
	if p.ttlSecurity {
		m.TtlSecurity = &api.TtlSecurity{Enabled: true, TtlMin: 255}
	} else if p.multihop > 1 {
		m.EbgpMultihop = &api.EbgpMultihop{Enabled: true, MultihopTtl: uint32(p.multihop)}
	}
	return m
}

// add makes p a neighbour. Where we are restarting, its first OPEN says so and that we
// have kept on forwarding (RFC 4724, section 4.1). GoBGP then sends it nothing before
// every neighbour has sent its End-of-RIB, or for the restart time of p, and ends with
// End-of-RIB: what GoBGP originates before add is among what it sends.
func (e *engine) add(ctx context.Context, p peer, restarting bool) error {
	m := p.message()
	if m.GracefulRestart != nil {
		m.GracefulRestart.LocalRestarting = restarting
	}
	if err := e.srv.AddPeer(ctx, &api.AddPeerRequest{Peer: m}); err != nil {
		return fmt.Errorf("neighbor %s: the engine refused it: %w", p.address, err)
	}
	e.peers[p.address] = p
	return nil
}

// disable ends the session and keeps it down.
func (e *engine) disable(ctx context.Context, a netip.Addr) error {
	return e.srv.DisablePeer(ctx, &api.DisablePeerRequest{Address: a.String()})
}

func (e *engine) remove(ctx context.Context, p peer) error {
	if p.password != "" {
		// DeletePeer leaves the key on the listening socket, and a peer without
		// password could not connect from that address again. UpdatePeer takes it off.
		bare := p.message()
		bare.Conf.AuthPassword, bare.Conf.AdminDown = "", true
		if _, err := e.srv.UpdatePeer(ctx, &api.UpdatePeerRequest{Peer: bare}); err != nil {
			return fmt.Errorf("neighbor %s: cannot take its password off: %w", p.address, err)
		}
	}
	if err := e.srv.DeletePeer(ctx, &api.DeletePeerRequest{Address: p.address.String()}); err != nil {
		return fmt.Errorf("neighbor %s: the engine does not let go of it: %w", p.address, err)
	}
	delete(e.peers, p.address)
	return nil
}

// cut closes the session with Cease, maximum number of prefixes reached (RFC 4486).
// GoBGP sends that only for its own limit. That limit is not used otherwise: GoBGP
// counts the whole table again at every UPDATE.
func (e *engine) cut(ctx context.Context, p peer) error {
	m := p.message()
	m.AfiSafis[0].PrefixLimits.MaxPrefixes = 1
	return e.update(ctx, m)
}

// bar forgets all that came from p and lets no session come up. It belongs after cut:
// GoBGP takes what follows its own Cease for a restart of the neighbour, and keeps the
// routes to pass on.
func (e *engine) bar(ctx context.Context, p peer) error {
	m := p.message()
	m.Conf.AdminDown = true
	return e.update(ctx, m)
}

// mend undoes bar.
func (e *engine) mend(ctx context.Context, p peer) error { return e.update(ctx, p.message()) }

func (e *engine) update(ctx context.Context, m *api.Peer) error {
	_, err := e.srv.UpdatePeer(ctx, &api.UpdatePeerRequest{Peer: m})
	return err
}

// renew replaces p by itself: GoBGP forgets its session and all that came from it.
func (e *engine) renew(ctx context.Context, p peer) error {
	if err := e.remove(ctx, p); err != nil {
		return err
	}
	return e.add(ctx, p, false)
}

// refresh runs the policies again over what neighbour a sent (in) or was sent.
func (e *engine) refresh(ctx context.Context, a netip.Addr, in bool) error {
	direction := api.ResetPeerRequest_DIRECTION_OUT
	if in {
		direction = api.ResetPeerRequest_DIRECTION_IN
	}
	return e.srv.ResetPeer(ctx, &api.ResetPeerRequest{Address: a.String(), Soft: true, Direction: direction})
}

// setOriginated makes GoBGP originate exactly want.
func (e *engine) setOriginated(want map[netip.Prefix]bool) error {
	var add, remove []*apiutil.Path
	for p := range want {
		if !e.originated[p] {
			path, err := ownPath(p)
			if err != nil {
				return err
			}
			add = append(add, path)
		}
	}
	for p := range e.originated {
		if !want[p] {
			path, err := ownPath(p)
			if err != nil {
				return err
			}
			remove = append(remove, path)
		}
	}
	if len(remove) > 0 {
		if err := e.srv.DeletePath(apiutil.DeletePathRequest{Paths: remove}); err != nil {
			return fmt.Errorf("cannot withdraw %d prefixes of ours: %w", len(remove), err)
		}
	}
	if len(add) > 0 {
		if _, err := e.srv.AddPath(apiutil.AddPathRequest{Paths: add}); err != nil {
			return fmt.Errorf("cannot announce %d prefixes of ours: %w", len(add), err)
		}
	}
	e.originated = make(map[netip.Prefix]bool, len(want))
	for p := range want {
		e.originated[p] = true
	}
	return nil
}

// ownPath is a path of this router: next hop 0.0.0.0 stands for its address on the
// session.
func ownPath(p netip.Prefix) (*apiutil.Path, error) {
	nlri, err := bgp.NewIPAddrPrefix(p)
	if err != nil {
		return nil, err
	}
	hop, err := bgp.NewPathAttributeNextHop(netip.IPv4Unspecified())
	if err != nil {
		return nil, err
	}
	return &apiutil.Path{Family: bgp.RF_IPv4_UC, Nlri: nlri,
		Attrs: []bgp.PathAttributeInterface{bgp.NewPathAttributeOrigin(OriginIGP), hop}}, nil
}

// stop ends all sessions. It waits for GoBGP's goroutines.
func (e *engine) stop(ctx context.Context) {
	if e.unwatch != nil {
		e.unwatch()
	}
	_ = e.srv.StopBgp(ctx, &api.StopBgpRequest{})
}
