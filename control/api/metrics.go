package api

import (
	"context"
	"log/slog"
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Collector is a prometheus.Collector over a Backend. Labels name ports, queues,
// workers, reasons and neighbours, never prefixes.
type Collector struct{ backend Backend }

// NewCollector returns the collector of b.
func NewCollector(b Backend) *Collector { return &Collector{b} }

// Describe sends nothing: which series there are depends on the configuration.
func (c *Collector) Describe(chan<- *prometheus.Desc) {}

// Collect asks the Backend once for everything.
func (c *Collector) Collect(ch chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), answerTime)
	defer cancel()
	e := &emitter{ch}
	for _, part := range []func(context.Context, *emitter) error{c.status, c.ports, c.neighbors, c.drops, c.fib, c.bgp} {
		if err := part(ctx, e); err != nil {
			ch <- prometheus.NewInvalidMetric(prometheus.NewInvalidDesc(err), err)
		}
	}
}

// metricsOf serves b's metrics with those of our own process. A part of the Backend
// that fails costs its series, not the scrape.
func metricsOf(b Backend, log *slog.Logger) http.Handler {
	r := prometheus.NewRegistry()
	r.MustRegister(NewCollector(b), collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return promhttp.HandlerFor(r, promhttp.HandlerOpts{
		ErrorHandling:       promhttp.ContinueOnError,
		ErrorLog:            slog.NewLogLogger(log.Handler(), slog.LevelWarn),
		MaxRequestsInFlight: 4,
	})
}

func (c *Collector) status(ctx context.Context, e *emitter) error {
	st, err := c.backend.Status(ctx)
	if err != nil {
		return err
	}
	e.gauge(infoDesc, 1, st.Version, st.Hostname)
	e.gauge(healthyDesc, truth(len(st.Unhealthy) == 0))
	e.gauge(readyDesc, truth(len(st.NotReady) == 0))
	e.time(startDesc, st.Started)
	e.time(dataplaneStartDesc, st.Dataplane.Started)
	e.counter(dataplaneRestartsDesc, uint64(st.Dataplane.Restarts))
	e.gauge(revisionDesc, float64(st.Config.Revision))
	e.time(appliedDesc, st.Config.Applied)
	for _, w := range st.Dataplane.Workers {
		id := strconv.Itoa(w.ID)
		e.counter(workerInDesc, w.InPkts, id)
		e.counter(workerOutDesc, w.OutPkts, id)
		e.counter(workerDroppedDesc, w.Dropped, id)
		e.counter(workerPuntedDesc, w.Punted, id)
		e.counter(workerRoundsDesc, w.Rounds, id)
		e.counter(workerBusyDesc, w.BusyRounds, id)
	}
	return nil
}

func (c *Collector) ports(ctx context.Context, e *emitter) error {
	ports, err := c.backend.Ports(ctx)
	if err != nil {
		return err
	}
	for _, p := range ports {
		e.gauge(portInfoDesc, 1, p.Name, p.Device, p.Driver, p.Mode, p.Description)
		e.gauge(portUpDesc, truth(p.OperStatus == "up"), p.Name)
		e.gauge(portSpeedDesc, float64(p.Speed)/8, p.Name)
		e.gauge(portMTUDesc, float64(p.MTU), p.Name)
		e.counter(portTransitionsDesc, p.Transitions, p.Name)
		e.counters(portDescs, p.Counters, p.Name)
		for _, q := range p.Queues {
			e.counters(queueDescs, q.Counters, p.Name, strconv.Itoa(q.ID), strconv.Itoa(q.Worker))
		}
	}
	return nil
}

func (c *Collector) neighbors(ctx context.Context, e *emitter) error {
	list, err := c.backend.Neighbors(ctx)
	if err != nil {
		return err
	}
	type key struct {
		port  string
		state NeighborState
	}
	count := make(map[key]int)
	for _, n := range list {
		count[key{n.Port, n.State}]++
	}
	for k, n := range count {
		e.gauge(neighborsDesc, float64(n), k.port, string(k.state))
	}
	return nil
}

func (c *Collector) drops(ctx context.Context, e *emitter) error {
	list, err := c.backend.Drops(ctx)
	if err != nil {
		return err
	}
	for _, d := range list {
		e.counter(dropsDesc, d.Packets, d.Reason)
		for _, p := range d.Ports {
			e.counter(portDropsDesc, p.Packets, p.Port, d.Reason)
		}
	}
	return nil
}

func (c *Collector) fib(ctx context.Context, e *emitter) error {
	n, err := c.backend.FIBCounts(ctx)
	if err != nil {
		return err
	}
	e.gauge(fibRoutesDesc, float64(n.Connected), string(SourceConnected))
	e.gauge(fibRoutesDesc, float64(n.Static), string(SourceStatic))
	e.gauge(fibRoutesDesc, float64(n.EBGP), string(SourceEBGP))
	e.gauge(fibRoutesDesc, float64(n.IBGP), string(SourceIBGP))
	e.gauge(fibStaleDesc, float64(n.Stale))
	e.gauge(fibFailedDesc, float64(n.Failed))
	e.gauge(fibTableDesc, float64(n.TableOctets))
	for _, u := range []struct {
		table string
		usage Usage
	}{{"extended-groups", n.ExtendedGroups}, {"next-hops", n.NextHops}, {"next-hop-groups", n.NextHopGroups}} {
		e.gauge(fibUsedDesc, float64(u.usage.Used), u.table)
		e.gauge(fibMaxDesc, float64(u.usage.Max), u.table)
	}
	e.time(auditDesc, n.Audit.Last)
	e.counter(auditCheckedDesc, n.Audit.Checked)
	e.counter(auditDivergencesDesc, n.Audit.Divergences)
	return nil
}

func (c *Collector) bgp(ctx context.Context, e *emitter) error {
	b, err := c.backend.BGP(ctx)
	if err != nil {
		return err
	}
	for _, n := range b.Neighbors {
		addr := n.Address.String()
		e.gauge(bgpInfoDesc, 1, addr, strconv.FormatUint(uint64(n.AS), 10), n.Description)
		e.gauge(bgpUpDesc, truth(n.State == SessionEstablished), addr)
		e.time(bgpSinceDesc, n.Since, addr)
		e.gauge(bgpReceivedDesc, float64(n.Received), addr)
		e.gauge(bgpAcceptedDesc, float64(n.Accepted), addr)
		e.gauge(bgpAdvertisedDesc, float64(n.Advertised), addr)
		e.gauge(bgpMaxDesc, float64(n.MaxPrefixes), addr)
		for _, r := range n.Refused {
			e.gauge(bgpRefusedDesc, float64(r.Routes), addr, r.Reason)
		}
		e.counter(bgpInDesc, n.InUpdates, addr)
		e.gauge(bgpQueueDesc, float64(n.QueueDepth), addr)
		e.gauge(bgpLagDesc, n.WorstLag, addr)
	}
	return nil
}

// emitter writes metrics of known descriptions.
type emitter struct{ ch chan<- prometheus.Metric }

func (e *emitter) gauge(d *prometheus.Desc, v float64, labels ...string) {
	e.ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
}

func (e *emitter) counter(d *prometheus.Desc, v uint64, labels ...string) {
	e.ch <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(v), labels...)
}

// time writes t in seconds since 1970, or nothing for the zero time.
func (e *emitter) time(d *prometheus.Desc, t time.Time, labels ...string) {
	if !t.IsZero() {
		e.gauge(d, float64(t.UnixMilli())/1000, labels...)
	}
}

func (e *emitter) counters(d counterDescs, c Counters, labels ...string) {
	for i, v := range []uint64{c.InPkts, c.InOctets, c.OutPkts, c.OutOctets, c.Dropped, c.Punted,
		c.InDiscards, c.OutDiscards, c.InPause, c.OutPause} {
		e.counter(d[i], v, labels...)
	}
}

func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
