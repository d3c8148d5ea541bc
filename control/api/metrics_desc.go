package api

import "github.com/prometheus/client_golang/prometheus"

// desc describes the series routerd_NAME.
func desc(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("routerd_"+name, help, labels, nil)
}

var (
	infoDesc    = desc("info", "1; the labels say what runs.", "version", "hostname")
	healthyDesc = desc("healthy", "1 if everything that should run is running.")
	readyDesc   = desc("ready", "1 if the router may be given traffic.")
	startDesc   = desc("start_time_seconds", "When the control process started, in seconds since 1970.")

	dataplaneStartDesc    = desc("dataplane_start_time_seconds", "When the forwarding process started, in seconds since 1970.")
	dataplaneRestartsDesc = desc("dataplane_restarts_total", "Times the control process had to restart the forwarding process.")
	revisionDesc          = desc("config_revision", "Revision of the running configuration.")
	appliedDesc           = desc("config_applied_time_seconds", "When the running configuration was applied, in seconds since 1970.")

	workerInDesc      = desc("worker_receive_packets_total", "Packets a worker took from receive rings.", "worker")
	workerOutDesc     = desc("worker_transmit_packets_total", "Packets a worker put into transmit rings.", "worker")
	workerDroppedDesc = desc("worker_dropped_packets_total", "Packets a worker dropped.", "worker")
	workerPuntedDesc  = desc("worker_punted_packets_total", "Packets a worker gave to the slow path.", "worker")
	workerRoundsDesc  = desc("worker_rounds_total", "Rounds of a worker's packet loop.", "worker")
	workerBusyDesc    = desc("worker_busy_rounds_total", "Rounds that found a packet.", "worker")

	portInfoDesc        = desc("port_info", "1; the labels say what drives the port.", "port", "device", "driver", "mode", "description")
	portUpDesc          = desc("port_up", "1 if the port has link.", "port")
	portSpeedDesc       = desc("port_speed_bytes_per_second", "Speed of the link.", "port")
	portMTUDesc         = desc("port_mtu_bytes", "Largest IP packet of the port.", "port")
	portTransitionsDesc = desc("port_carrier_transitions_total", "Times the link came or went.", "port")
	portDropsDesc       = desc("port_drops_total", "Packets dropped, by arrival port and reason.", "port", "reason")
	dropsDesc           = desc("drops_total", "Packets dropped, by reason.", "reason")
	neighborsDesc       = desc("neighbors", "Entries of the ARP table.", "port", "state")

	fibRoutesDesc        = desc("fib_routes", "Prefixes in the FIB.", "source")
	fibStaleDesc         = desc("fib_stale_routes", "Prefixes in the FIB not relearned since the control process started.")
	fibFailedDesc        = desc("fib_failed_routes", "Routes that should be in the FIB and are not.")
	fibTableDesc         = desc("fib_table_bytes", "Memory the FIB occupies.")
	fibUsedDesc          = desc("fib_used", "Entries in use of a table of fixed size.", "table")
	fibMaxDesc           = desc("fib_max", "Entries of a table of fixed size.", "table")
	auditDesc            = desc("fib_audit_time_seconds", "When the last whole comparison of RIB and FIB ended, in seconds since 1970.")
	auditCheckedDesc     = desc("fib_audit_checked_total", "Comparisons of RIB and FIB.")
	auditDivergencesDesc = desc("fib_audit_divergences_total", "Differences between RIB and FIB found and repaired.")

	bgpInfoDesc       = desc("bgp_neighbor_info", "1; the labels say who the neighbour is.", "neighbor", "as", "description")
	bgpUpDesc         = desc("bgp_session_up", "1 if the session is Established.", "neighbor")
	bgpSinceDesc      = desc("bgp_session_change_time_seconds", "When the session entered its state, in seconds since 1970.", "neighbor")
	bgpReceivedDesc   = desc("bgp_received_routes", "Routes received, before policy.", "neighbor")
	bgpAcceptedDesc   = desc("bgp_accepted_routes", "Routes accepted by import policy.", "neighbor")
	bgpAdvertisedDesc = desc("bgp_advertised_routes", "Routes told to the neighbour.", "neighbor")
	bgpRefusedDesc    = desc("bgp_refused_routes", "Routes received and not accepted.", "neighbor", "reason")
	bgpMaxDesc        = desc("bgp_max_routes", "Routes the neighbour may send before the session is ended.", "neighbor")
	bgpInDesc         = desc("bgp_receive_updates_total", "UPDATE messages received.", "neighbor")
	bgpQueueDesc      = desc("bgp_queued_changes", "Changes received and not yet in the RIB.", "neighbor")
	bgpLagDesc        = desc("bgp_worst_lag_seconds", "Longest wait of an UPDATE for the RIB since start.", "neighbor")

	portDescs  = describeCounters("port", "port")
	queueDescs = describeCounters("queue", "port", "queue", "worker")
)

// counterDescs describes the members of Counters, in their order.
type counterDescs [10]*prometheus.Desc

func describeCounters(of string, labels ...string) counterDescs {
	d := func(name, help string) *prometheus.Desc { return desc(of+"_"+name+"_total", help, labels...) }
	return counterDescs{
		d("receive_packets", "Packets received."),
		d("receive_bytes", "Bytes received, without FCS."),
		d("transmit_packets", "Packets sent."),
		d("transmit_bytes", "Bytes sent, without FCS."),
		d("dropped_packets", "Packets received and dropped under a reason of routerd_drops_total."),
		d("punted_packets", "Packets received and given to the slow path or the host."),
		d("receive_discards", "Packets lost in the NIC or its ring before routerd saw them."),
		d("transmit_discards", "Packets lost because the transmit ring was full."),
		d("receive_pause_frames", "Flow control frames received."),
		d("transmit_pause_frames", "Flow control frames sent."),
	}
}
