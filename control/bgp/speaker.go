package bgp

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"routerd/config"
)

// Sink takes what the neighbours say. All calls come from one goroutine, in order,
// and must not block for long: routes wait in memory meanwhile.
type Sink interface {
	// Routes takes changes in order. The slice belongs to the sink.
	Routes(changes []Change)
	// EndOfRIB says that peer has sent its whole table once (RFC 4724).
	EndOfRIB(peer netip.Addr)
	// PeerRestarts stands in the place of PeerDown where peer goes on forwarding while
	// its BGP restarts (RFC 4724): its paths are stale and stay in use. What was stale
	// before is taken back.
	PeerRestarts(peer netip.Addr)
	// SweepPeer takes back the stale paths of peer that were not announced since.
	SweepPeer(peer netip.Addr)
	PeerUp(peer netip.Addr, as uint32, id netip.Addr)
	// PeerDown takes back every path of peer, stale ones too; they are not withdrawn one
	// by one.
	PeerDown(peer netip.Addr, reason string)
}

// Options make a Speaker.
type Options struct {
	Log  *slog.Logger
	Sink Sink
	// ListenAddresses are the addresses to accept sessions on; empty: every IPv4
	// address.
	ListenAddresses []netip.Addr
	// Restarting says that routes and forwarding of an earlier process are still in
	// place: with bgp.graceful_restart the first OPEN to every neighbour of the first
	// configuration asks it to keep our routes until our End-of-RIB (RFC 4724,
	// section 4.1). What that process announced should be handed to Announce before
	// Apply: End-of-RIB says that it is complete.
	Restarting bool
}

// ErrSecondSpeaker is returned where a process makes a second Speaker: GoBGP keeps
// part of its state in package variables.
var ErrSecondSpeaker = errors.New("bgp: this process has a speaker already")

// ErrClosed is returned after Close.
var ErrClosed = errors.New("bgp: the speaker is closed")

var taken atomic.Bool

// Speaker is the BGP speaker of the router. Its methods may be called by any
// number of goroutines.
type Speaker struct {
	log        *slog.Logger
	sink       Sink
	listen     []netip.Addr
	restarting bool

	inbox    *inbox           // GoBGP -> loop
	calls    chan func(*loop) // steward -> loop
	limits   *wanted          // loop -> steward: reached max_prefixes
	renewals *wanted          // loop -> steward: GoBGP keeps routes that are gone
	resends  *wanted          // loop -> steward: may have missed an announcement
	jobs     chan job         // Apply -> steward
	announce chan struct{}    // holds a token while originate has changed

	stop        chan struct{}
	stopOnce    sync.Once
	loopDone    chan struct{}
	stewardDone chan struct{}

	retryAfter  time.Duration // first wait after max_prefixes; doubles to retryMost
	resendAfter time.Duration // from a session's beginning

	mu        sync.Mutex // never held over a call into GoBGP or the sink
	views     map[netip.Addr]Neighbor
	worstLag  time.Duration
	originate map[netip.Prefix]bool
}

const (
	retryFirst = time.Minute
	retryMost  = time.Hour

	// resendAfter is when a new session is sent everything once more. GoBGP sends its
	// table before it marks the session as established, and sends what changes between
	// the two to nobody.
	resendAfter = 2 * time.Second
)

// New starts a speaker that has no neighbours until Apply gives it some.
func New(o Options) (*Speaker, error) {
	if !taken.CompareAndSwap(false, true) {
		return nil, ErrSecondSpeaker
	}
	listen := o.ListenAddresses
	if len(listen) == 0 {
		listen = []netip.Addr{netip.IPv4Unspecified()}
	}
	s := &Speaker{
		log: o.Log, sink: o.Sink, listen: listen, restarting: o.Restarting,
		inbox: newInbox(), calls: make(chan func(*loop)), limits: newWanted(), renewals: newWanted(), resends: newWanted(),
		jobs: make(chan job), announce: make(chan struct{}, 1),
		stop: make(chan struct{}), loopDone: make(chan struct{}), stewardDone: make(chan struct{}),
		retryAfter: retryFirst, resendAfter: resendAfter, views: make(map[netip.Addr]Neighbor),
	}
	l := &loop{s: s, log: s.log, sessions: make(map[netip.Addr]*session), changed: make(map[*session]bool),
		flush: time.NewTimer(time.Hour), sweepTimer: time.NewTimer(time.Hour)}
	l.flush.Stop()
	l.sweepTimer.Stop()
	go l.run()
	go s.steward()
	return s, nil
}

// Apply makes the speaker run c. It compares with what runs: a neighbour that did
// not change keeps its session; description, max_prefixes and policies change
// without a reset; anything else restarts the session of that neighbour, and
// another AS, router id or listening port restarts all.
//
// An error before anything was changed is about c: a password file, a policy. When
// ctx ends first, the work goes on and its outcome is logged.
func (s *Speaker) Apply(ctx context.Context, c *config.Config) error {
	p, err := prepare(c)
	if err != nil {
		return fmt.Errorf("bgp: %w; nothing was changed", err)
	}
	j := job{plan: p, done: make(chan error, 1)}
	select {
	case s.jobs <- j:
	case <-s.stop:
		return ErrClosed
	case <-ctx.Done():
		return fmt.Errorf("bgp: the engine is still busy with an earlier change: %w; nothing was changed", ctx.Err())
	}
	select {
	case err := <-j.done:
		return err
	case <-ctx.Done():
		return fmt.Errorf("bgp: the engine has not finished the change yet: %w; it goes on", ctx.Err())
	}
}

// Announce sets the whole list of prefixes that this router originates; what is
// not in it any more is withdrawn. Export policies decide who hears of them; their
// next hop is the router's own address on the session. It returns at once.
func (s *Speaker) Announce(prefixes []netip.Prefix) {
	want := make(map[netip.Prefix]bool, len(prefixes))
	for _, p := range prefixes {
		if p.Addr().Is4() {
			want[p.Masked()] = true
		}
	}
	s.mu.Lock()
	same := maps.Equal(want, s.originate)
	s.originate = want
	s.mu.Unlock()
	if !same {
		select {
		case s.announce <- struct{}{}:
		default:
		}
	}
}

// Close ends all sessions with Cease, administrative shutdown, at which neighbours drop
// our routes at once, and the speaker with them. The sink
// is not called any more once Close has returned. When ctx ends first, the engine
// is left to stop by itself.
func (s *Speaker) Close(ctx context.Context) error {
	s.stopOnce.Do(func() { close(s.stop) })
	<-s.loopDone
	select {
	case <-s.stewardDone:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("bgp: the engine has not stopped yet: %w", ctx.Err())
	}
}

// onLoop runs f on the loop and waits for it; false: the loop has ended.
func (s *Speaker) onLoop(f func(*loop)) bool {
	done := make(chan struct{})
	select {
	case s.calls <- func(l *loop) { f(l); close(done) }:
		<-done
		return true
	case <-s.loopDone:
		return false
	}
}
