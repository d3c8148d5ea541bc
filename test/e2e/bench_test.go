//go:build linux

package e2e

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"routerd/test/edge"
	"routerd/test/lab"
	"routerd/test/probe"
)

const (
	benchRounds  = 5
	benchPackets = 400_000 // a round
	benchFlows   = 4096
)

// BenchmarkForwarding floods the kernel's forwarding and routerd's over equal
// networks, turn by turn, and reports the medians. The sender, the veth pairs and
// the sink's stack are part of both figures.
func BenchmarkForwarding(b *testing.B) {
	kernel, ours := lay(b, 1, 5*time.Minute), start(b, 1, 5*time.Minute)
	u := kernel.Upstreams[0]
	kernel.try(
		kernel.Router.IP("address", "add", edge.LANGateway.String()+"/27", "dev", "lan0"),
		kernel.Router.IP("address", "add", u.Router.String()+"/30", "dev", u.Port),
		kernel.Router.IP("route", "add", lost, "via", u.Address.String()),
		kernel.Router.Sysctl("net.ipv4.ip_forward", "1"))
	ours.speak(0, lost)
	var kernelPPS, oursPPS []float64
	for range benchRounds {
		kernelPPS = append(kernelPPS, kernel.rate())
		oursPPS = append(oursPPS, ours.rate())
	}
	k, o := median(kernelPPS), median(oursPPS)
	b.ReportMetric(k, "kernel-pps")
	b.ReportMetric(o, "routerd-pps")
	b.ReportMetric(o/k, "routerd/kernel")
	b.ReportMetric(0, "ns/op")
	b.Logf("each round: kernel %.0f, routerd %.0f packets/s", kernelPPS, oursPPS)
}

// rate floods the router and returns the packets a second that came out.
func (w *world) rate() float64 {
	w.t.Helper()
	from := w.port(w.LAN)
	gateway, err := w.Router.MAC("lan0")
	w.try(err)
	flood := probe.Flood{SrcMAC: from.MAC, DstMAC: gateway, Src: edge.LANHost, Dst: addresses(lost, benchFlows), TTL: 64, Hops: 1}
	stream, err := flood.Start(from, nil)
	w.try(err)
	began, before := time.Now(), w.arrivedAtUpstream()
	w.try(lab.Await(w.ctx, "the flood to be sent", func() error {
		if sent := stream.Sent(); sent < benchPackets {
			return fmt.Errorf("%d packets sent", sent)
		}
		return nil
	}))
	arrived, took := w.arrivedAtUpstream()-before, time.Since(began)
	_, err = stream.Stop()
	w.try(err)
	return float64(arrived) / took.Seconds()
}

// arrivedAtUpstream is the kernel's count of packets on the upstream's link.
func (w *world) arrivedAtUpstream() uint64 {
	w.t.Helper()
	out, err := w.Upstreams[0].Output("ip", "-s", "-j", "link", "show", "dev", "eth0")
	w.try(err)
	var links []struct {
		Stats64 struct{ RX struct{ Packets uint64 } }
	}
	w.try(json.Unmarshal(out, &links))
	return links[0].Stats64.RX.Packets
}

func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[len(sorted)/2]
}
