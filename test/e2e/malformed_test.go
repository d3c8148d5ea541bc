//go:build linux

package e2e

import (
	"context"
	"fmt"
	"net/netip"
	"testing"
	"time"

	"routerd/test/edge"
	"routerd/test/lab"
	"routerd/test/probe"
)

func TestMalformedFramesAreCounted(t *testing.T) {
	w := start(t, 1, 2*time.Minute)
	w.speak(0, far)
	out, in := w.port(w.LAN), w.port(w.Upstreams[0])
	gateway, err := w.Router.MAC("lan0")
	w.try(err)
	sound := probe.UDP{
		SrcMAC: out.MAC, DstMAC: gateway, TTL: 64, Payload: []byte("malformed or not"),
		Src: netip.AddrPortFrom(edge.LANHost, 5000), Dst: netip.AddrPortFrom(netip.MustParseAddr("203.0.113.9"), 33434),
	}
	const copies = 5
	for _, m := range probe.MalformedFrames(sound) {
		before, sum := w.drops()
		for range copies {
			w.try(out.Send(m.Frame))
		}
		err := lab.Await(w.brief(), fmt.Sprintf("%d frames (%s) under a drop reason", copies, m.Name), func() error {
			if _, now := w.drops(); now < sum+copies {
				return fmt.Errorf("%d are", now-sum)
			}
			return nil
		})
		if err != nil {
			t.Error(err)
			continue
		}
		after, now := w.drops()
		for reason, n := range after {
			if n != before[reason] {
				t.Logf("%-32s %s +%d", m.Name, reason, n-before[reason])
			}
		}
		if now != sum+copies {
			t.Errorf("%s: %d frames sent, %d dropped", m.Name, copies, now-sum)
		}
	}
	// The last packet to come out must be the first one, too.
	w.try(out.Send(sound.Frame()))
	got, err := in.ReceiveUDP(w.ctx, func(u probe.UDP) bool { return u.Src.Addr() == edge.LANHost || u.Dst.Port() == 33434 })
	w.try(err)
	if string(got.Payload) != string(sound.Payload) || got.TTL != 63 {
		t.Errorf("came out: %+v", got)
	}
	w.balance()
}

// brief bounds the wait for one of many cases, so that the others are still tried.
func (w *world) brief() context.Context {
	ctx, cancel := context.WithTimeout(w.ctx, 5*time.Second)
	w.t.Cleanup(cancel)
	return ctx
}

// balance checks that every packet that came in, or that routerd made, went out, up, or
// to a drop reason.
func (w *world) balance() {
	w.t.Helper()
	w.try(lab.Await(w.brief(), "received + injected to be sent + punted + dropped", func() error {
		var in, gone uint64
		counters, err := w.router.PortCounters(w.ctx)
		for _, c := range counters {
			in += c.InPkts + c.Injected
			gone += c.OutPkts + c.Dropped + c.Punted
		}
		if err == nil && in != gone {
			err = fmt.Errorf("%d in, %d accounted for: %+v", in, gone, counters)
		}
		return err
	}))
}
