package bgp

import (
	"context"
	"fmt"
	"log/slog"
	"net/netip"
	"sync/atomic"

	"github.com/osrg/gobgp/v4/pkg/packet/bgp"
)

// tap is the slog.Handler that GoBGP logs to, and the way routes reach us.
//
// GoBGP calls its logger from the goroutine that does the thing it logs, with the
// thing itself as a structured attribute. So a peer's "Peer Up", "received update"
// and "Peer Down" arrive complete and in order, whatever GoBGP's locks are doing
// meanwhile. See the package comment for why its event API cannot be used.
//
// Nothing here blocks: records become entries of the inbox or go to the operator's
// log, GoBGP's own words at Debug.
type tap struct {
	out    *slog.Logger
	inbox  *inbox
	serial *atomic.Uint64

	peer   netip.Addr // set by WithAttrs: GoBGP derives one logger for each peer object
	source uint64     // tells that peer object from an earlier one of the same address

	asWithdraw *atomic.Bool // the update being received is to be treated as a withdraw
}

func newTap(out *slog.Logger, in *inbox) *tap {
	return &tap{out: out, inbox: in, serial: new(atomic.Uint64)}
}

// Enabled lets Debug through because "received update" is logged there.
func (t *tap) Enabled(context.Context, slog.Level) bool { return true }

func (t *tap) WithGroup(string) slog.Handler { return t }

func (t *tap) WithAttrs(attrs []slog.Attr) slog.Handler {
	for _, a := range attrs {
		if a.Key != "Key" {
			continue
		}
		if peer, err := netip.ParseAddr(a.Value.String()); err == nil {
			n := *t
			n.peer, n.source, n.asWithdraw = peer, t.serial.Add(1), new(atomic.Bool)
			return &n
		}
	}
	return t
}

// The records that mean something to us. TestTapWords fails when GoBGP says any of
// them differently.
const (
	saysUp         = "Peer Up"
	saysDown       = "Peer Down"
	saysUpdate     = "received update"
	saysAsWithdraw = "the received Update message was treated as withdraw"
	saysNoConnect  = "failed to connect"
	saysSent       = "sent notification"
	saysReceived   = "received notification"
	saysNoMD5      = "failed to set md5"
	saysRestarts   = "graceful-restart" // a reason of saysDown
)

func (t *tap) Handle(ctx context.Context, r slog.Record) error {
	// A panic here would unwind through GoBGP's goroutine and end the process.
	defer func() {
		if p := recover(); p != nil {
			t.out.Error("bgp: a record of the engine could not be read", "record", r.Message, "panic", fmt.Sprint(p))
		}
	}()
	if t.peer.IsValid() {
		switch r.Message {
		case saysUp:
			t.inbox.put(event{kind: sessionUp, peer: t.peer, source: t.source, at: r.Time})
		case saysDown:
			reason := attr(r, "Reason").String()
			t.inbox.put(event{kind: sessionDown, peer: t.peer, source: t.source, at: r.Time, text: reasonText(reason), graceful: reason == saysRestarts})
		case saysUpdate:
			t.update(r)
			return nil
		case saysAsWithdraw:
			t.asWithdraw.Store(true)
			t.inbox.put(event{kind: sessionMalformed, peer: t.peer, source: t.source, text: attr(r, "Error").String()})
		case saysNoConnect:
			t.inbox.put(event{kind: sessionNote, peer: t.peer, source: t.source, text: "cannot connect: " + dialText(attr(r, "Error").String())})
		case saysSent:
			t.inbox.put(event{kind: sessionNote, peer: t.peer, source: t.source, text: "sent " + notificationText(r)})
		case saysReceived:
			t.inbox.put(event{kind: sessionNote, peer: t.peer, source: t.source, text: "received " + notificationText(r)})
		}
	}
	if r.Message == saysNoMD5 {
		t.out.Error("bgp: the password of a neighbour could not be set on the listening socket; it cannot connect to us",
			"neighbor", attr(r, "Key").String(), "err", attr(r, "Err").String())
		return nil
	}
	if !t.out.Enabled(ctx, slog.LevelDebug) {
		return nil
	}
	args := make([]slog.Attr, 0, r.NumAttrs()+1)
	if t.peer.IsValid() {
		args = append(args, slog.String("neighbor", t.peer.String()))
	}
	r.Attrs(func(a slog.Attr) bool { args = append(args, a); return true })
	t.out.LogAttrs(ctx, slog.LevelDebug, "bgp engine: "+r.Message, args...)
	return nil
}

func (t *tap) update(r slog.Record) {
	var nlri, withdrawn []bgp.PathNLRI
	var attrs []bgp.PathAttributeInterface
	complete := 0
	r.Attrs(func(a slog.Attr) bool {
		var ok bool
		switch a.Key {
		case "nlri":
			nlri, ok = a.Value.Any().([]bgp.PathNLRI)
		case "withdrawals":
			withdrawn, ok = a.Value.Any().([]bgp.PathNLRI)
		case "path_attributes":
			attrs, ok = a.Value.Any().([]bgp.PathAttributeInterface)
		}
		if ok {
			complete++
		}
		return true
	})
	if complete != 3 {
		panic("the engine logs updates in another form")
	}
	asWithdraw := t.asWithdraw.Swap(false)
	t.inbox.put(event{kind: sessionUpdate, peer: t.peer, source: t.source, at: r.Time,
		update: decode(nlri, withdrawn, attrs, asWithdraw)})
}

func attr(r slog.Record, key string) slog.Value {
	var v slog.Value
	r.Attrs(func(a slog.Attr) bool {
		if a.Key == key {
			v = a.Value
			return false
		}
		return true
	})
	return v
}
