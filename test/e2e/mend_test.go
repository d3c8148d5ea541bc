//go:build linux

package e2e

import (
	"fmt"
	"net/netip"
	"strings"
	"syscall"
	"testing"
	"time"

	"routerd/test/edge"
	"routerd/test/lab"
	"routerd/test/probe"
)

// awaitPort waits until a port's state is what is wanted and nothing is said of it.
func (w *world) awaitPort(name, state, note string) {
	w.t.Helper()
	w.try(lab.Await(w.ctx, "port "+name+" "+state, func() error {
		ports, err := w.router.API.Ports(w.ctx, name)
		if err != nil {
			return err
		}
		p := ports.Ports[0]
		if said := strings.Join(p.Notes, "; "); p.OperStatus != state || !strings.Contains(said, note) || (note == "" && said != "") {
			return fmt.Errorf("it is %s: %q", p.OperStatus, said)
		}
		return nil
	}))
}

func TestInterfaceThatReturnsIsTakenAgain(t *testing.T) {
	w := start(t, 2, time.Minute)
	w.speak(0, far)
	plane := w.status().Dataplane.PID
	u := w.Upstreams[1]
	stream := w.flood(0, addresses(far, 100))

	w.try(w.Router.IP("link", "del", u.Port))
	w.awaitPort(u.Port, "down", "no such interface")
	text := w.Config(w.router.Socket, "route \"100.64.0.0/10\" { action = \"blackhole\" }\n")
	text = strings.Replace(text, `description = "LAN"`, `description = "the LAN"`, 1)
	w.try(w.router.WriteConfig(text))
	_, err := w.router.Ctl("config", "apply", w.router.ConfigFile)
	w.try(err) // what is broken hinders no other change

	w.try(w.Connect(lab.End{Space: u.Namespace, Name: "eth0", Addresses: []string{u.Address.String() + "/30"}},
		lab.End{Space: w.Router, Name: u.Port, Router: true}),
		u.IP("route", "add", edge.LANSubnet, "via", u.Router.String()))
	w.awaitPort(u.Port, "up", "")
	w.try(lab.Await(w.ctx, "the port's subnet in the FIB", func() error {
		_, err := w.router.Ctl("show", "fib", netip.PrefixFrom(u.Router, 30).Masked().String())
		return err
	}))
	_, err = probe.Ping(w.LAN, edge.LANHost, u.Address, 3, 5*time.Second)
	w.try(err)
	if got := w.status().Dataplane.PID; got != plane {
		t.Errorf("forwarding process is %d, was %d", got, plane)
	}
	report, err := stream.Stop()
	w.try(err)
	if t.Log(report); !report.Clean() {
		t.Error("the flood through the other ports did not pass unharmed")
	}
}

// A process that is stopped keeps its sockets open: nobody is told.
func TestHungForwardingProcessIsReplaced(t *testing.T) {
	w := start(t, 1, 2*time.Minute)
	w.speak(0, far)
	plane := w.status().Dataplane.PID
	w.try(syscall.Kill(plane, syscall.SIGSTOP))
	for _, what := range []string{"fib", "route", "port", "status", "drops", "bgp"} {
		_, err := w.router.Ctl("show", what)
		w.try(err)
	}
	w.try(lab.Await(w.ctx, "another forwarding process", func() error {
		if s := w.status().Dataplane; s.PID == plane || s.PID == 0 {
			return fmt.Errorf("%+v", s)
		}
		return nil
	}))
	w.awaitPort("lan0", "up", "")
	w.awaitPort("up0", "up", "")
	w.try(w.router.AwaitRoute(w.ctx, far, w.Upstreams[0].Address))
	w.arrive(w.flood(0, addresses(far, 100)), 1000)
}

func TestInterfaceThatSomebodyElseChanged(t *testing.T) {
	w := start(t, 1, time.Minute)
	w.speak(0, far)
	other := "02:00:00:00:00:77"
	w.try(w.Router.IP("link", "set", "lan0", "address", other),
		lab.Await(w.ctx, "the new MAC address", func() error {
			ports, err := w.router.API.Ports(w.ctx, "lan0")
			if err == nil && ports.Ports[0].MAC != other {
				err = fmt.Errorf("port lan0 has %s", ports.Ports[0].MAC)
			}
			return err
		}))
	w.try(w.Router.IP("address", "flush", "dev", "lan0"))
	_, err := w.router.Ctl("config", "apply")
	w.try(err) // changes nothing, and puts back what is missing
	w.try(w.LAN.IP("neighbor", "flush", "all"))
	w.arrive(w.flood(0, addresses(far, 100)), 1000)
}
