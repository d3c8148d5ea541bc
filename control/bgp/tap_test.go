package bgp

import (
	"errors"
	"log/slog"
	"net/netip"
	"runtime/debug"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/osrg/gobgp/v4/pkg/packet/bgp"

	"routerd/config"
	"routerd/control/bgp/bgptest"
)

// The tap relies on words of this version. Read pkg/server/{fsm,peer}.go of a new one
// for the constants in tap.go before this is raised; TestTapWords then runs them.
func TestEngineVersion(t *testing.T) {
	const read = "v4.8.0"
	info, ok := debug.ReadBuildInfo()
	if !ok {
		t.Skip("built without module information")
	}
	for _, m := range info.Deps {
		if m.Path == "github.com/osrg/gobgp/v4" && m.Version != read {
			t.Errorf("GoBGP is %s; the tap was written for %s", m.Version, read)
		}
	}
}

// Every record that the tap waits for comes, with its attributes.
func TestTapWords(t *testing.T) {
	r := newRig(t)
	away := config.Neighbor{Address: host(9), AS: 64497, Port: freePort(t), Import: "in", Export: "out"}
	r.apply(r.config(permissive(), external(2, 64496), away))
	p := r.dial(2, 64496)
	r.sink.wait(t, saysUp, func() bool { return r.sink.up[host(2)] })
	r.must(p.Announce(bgptest.Route{}, prefix("203.0.113.0/24")))
	r.sink.has(t, host(2), "203.0.113.0/24") // saysUpdate
	r.must(p.SendRaw(hostileUpdates["origin 7"]))
	r.sink.has(t, host(2)) // saysAsWithdraw
	r.neighbor(2, saysAsWithdraw, func(n Neighbor) bool { return n.Malformed == 1 })
	r.must(p.SendRaw(hostileUpdates["message type 0"]))
	r.sink.wait(t, saysDown, func() bool { return len(r.sink.downs[host(2)]) == 1 })
	if got, want := r.sink.downsOf(host(2))[0], "sent message header error: bad message type (1/3)"; got != want {
		t.Errorf("down because %q, want %q", got, want)
	}
	r.neighbor(9, saysNoConnect, func(n Neighbor) bool { return n.LastError != "" })
	// A neighbour that is refused in OPEN.
	wrong := bgptest.Options{Local: host(2), Remote: netip.AddrPortFrom(ours, uint16(r.port)), AS: 64999, Once: true}
	if _, err := bgptest.Dial(r.ctx, wrong); !errors.Is(err, bgptest.ErrRefused) {
		t.Errorf("%v", err)
	}
	v := r.neighbor(2, saysSent, func(n Neighbor) bool {
		return n.LastError == "sent OPEN error: wrong AS, the neighbour's is not the configured one (2/2)"
	})
	if v.Note() != v.LastError {
		t.Errorf("note %q", v.Note())
	}
}

func TestNotificationFromPeer(t *testing.T) {
	r := newRig(t)
	r.apply(r.config(permissive(), external(2, 64496)))
	p := r.dial(2, 64496)
	r.sink.wait(t, "up", func() bool { return r.sink.up[host(2)] })
	r.must(p.Notify(6, 2))
	r.sink.wait(t, "down", func() bool { return len(r.sink.downs[host(2)]) == 1 })
	if got, want := r.sink.downsOf(host(2))[0], "received Cease: administrative shutdown (6/2)"; got != want {
		t.Errorf("down because %q, want %q", got, want)
	}
}

// Records of GoBGP that look like ours but carry something else must not hurt.
func TestTapOfForeignRecords(t *testing.T) {
	in := newInbox()
	h := newTap(discard(), in).WithAttrs([]slog.Attr{slog.String("Topic", "Peer"), slog.String("Key", "192.0.2.1")})
	for _, r := range []slog.Record{
		record(saysUpdate),
		record(saysUpdate, slog.Any("nlri", 7), slog.Any("withdrawals", nil), slog.Any("path_attributes", "x")),
		record(saysUpdate, slog.Any("nlri", []bgp.PathNLRI{{}}), slog.Any("withdrawals", []bgp.PathNLRI(nil)), slog.Any("path_attributes", []bgp.PathAttributeInterface{nil})),
		record(saysSent), record(saysReceived), record(saysNoConnect), record(saysAsWithdraw), record("anything"),
	} {
		if err := h.Handle(t.Context(), r); err != nil {
			t.Error(err)
		}
	}
	for _, e := range in.take(nil) {
		if e.kind == sessionUpdate && len(e.update.reach) > 0 {
			t.Errorf("%+v", e)
		}
	}
	// One logger without a neighbour, one with an address that is none.
	for _, attrs := range [][]slog.Attr{nil, {slog.String("Key", "xyz")}} {
		h := newTap(discard(), in).WithAttrs(attrs)
		if err := h.Handle(t.Context(), record(saysUp)); err != nil || in.len() != 0 {
			t.Errorf("%v, %d events", err, in.len())
		}
	}
}

func record(message string, attrs ...slog.Attr) slog.Record {
	r := slog.NewRecord(time.Now(), slog.LevelDebug, message, 0)
	r.AddAttrs(attrs...)
	return r
}

func TestDialText(t *testing.T) {
	for in, want := range map[string]string{
		"dial tcp 0.0.0.0:0->192.0.2.1:179: i/o timeout":                   "i/o timeout",
		"dial tcp 192.0.2.2:0->192.0.2.1:179: connect: connection refused": "connection refused",
		"something else": "something else",
	} {
		if got := dialText(in); got != want {
			t.Errorf("%q became %q, want %q", in, got, want)
		}
	}
}

func TestReasonText(t *testing.T) {
	got := map[string]string{}
	want := map[string]string{
		"notification-sent code 6(cease) subcode 1(maximum number of prefixes reached)": "sent Cease: maximum number of prefixes reached (6/1)",
		"notification-received code 6(cease) subcode 99(undefined)":                     "received Cease (6/99)",
		"notification-received code 77(undefined) subcode 0(undefined)":                 "received notification 77/0",
		"hold-timer-expired": "hold timer expired: nothing heard from the neighbour",
		"something new":      "something new",
	}
	for in := range want {
		got[in] = reasonText(in)
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}
