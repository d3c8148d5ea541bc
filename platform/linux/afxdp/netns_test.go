//go:build linux

package afxdp

import (
	"log/slog"
	"os"
	"runtime"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"

	"routerd/nmring"
)

// patience bounds how long a broken test hangs; it measures nothing.
const patience = 20 * time.Second

// enterNamespace puts the test into a network namespace of its own. Where that is not
// possible the test skips, or fails when end-to-end tests are required.
func enterNamespace(t testing.TB) {
	t.Helper()
	if os.Geteuid() != 0 {
		if os.Getenv("ROUTERD_E2E") == "require" {
			t.Fatal("network namespaces need root")
		}
		t.Skip("network namespaces need root")
	}
	runtime.LockOSThread()
	home, err := netns.Get()
	if err != nil {
		t.Fatal(err)
	}
	fresh, err := netns.New()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		fresh.Close()
		if netns.Set(home) == nil {
			runtime.UnlockOSThread()
		}
		home.Close()
	})
	// IPv6 chatter would mix with the tests' own frames.
	if err := os.WriteFile("/proc/sys/net/ipv6/conf/default/disable_ipv6", []byte("1"), 0); err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
}

// layVeth makes a veth pair with queues pairs of queues and sets the peer up.
func layVeth(t testing.TB, name, peer string, queues int) {
	t.Helper()
	attrs := netlink.LinkAttrs{Name: name, NumTxQueues: queues, NumRxQueues: queues, MTU: 1500}
	veth := &netlink.Veth{LinkAttrs: attrs, PeerName: peer,
		PeerNumTxQueues: uint32(queues), PeerNumRxQueues: uint32(queues)}
	if err := netlink.LinkAdd(veth); err != nil {
		t.Fatal(err)
	}
	if err := netlink.LinkSetUp(linkOf(t, peer)); err != nil {
		t.Fatal(err)
	}
}

func linkOf(t testing.TB, name string) netlink.Link {
	t.Helper()
	link, err := netlink.LinkByName(name)
	if err != nil {
		t.Fatal(err)
	}
	return link
}

func macOf(t testing.TB, name string) [6]byte {
	t.Helper()
	return [6]byte(linkOf(t, name).Attrs().HardwareAddr)
}

// wire is a raw socket on the far end of a veth pair.
type wire struct {
	t  testing.TB
	fd int
}

func newWire(t testing.TB, ifname string) *wire {
	t.Helper()
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	w := &wire{t: t, fd: fd}
	t.Cleanup(func() { unix.Close(fd) })
	must(t, unix.SetsockoptInt(fd, unix.SOL_PACKET, unix.PACKET_IGNORE_OUTGOING, 1))
	must(t, unix.SetsockoptInt(fd, unix.SOL_PACKET, unix.PACKET_QDISC_BYPASS, 1))
	must(t, unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, 64<<20))
	must(t, unix.Bind(fd, &unix.SockaddrLinklayer{Protocol: 0x0300, Ifindex: linkOf(t, ifname).Attrs().Index}))
	return w
}

func (w *wire) send(frame []byte) {
	w.t.Helper()
	for {
		_, err := unix.Write(w.fd, frame)
		if err == unix.ENOBUFS || err == unix.EAGAIN {
			runtime.Gosched()
			continue
		}
		must(w.t, err)
		return
	}
}

// receive waits for a frame that want accepts.
func (w *wire) receive(want func([]byte) bool) []byte {
	w.t.Helper()
	buf := make([]byte, 4096)
	for deadline := time.Now().Add(patience); ; {
		left := int(time.Until(deadline).Milliseconds())
		if left <= 0 {
			w.t.Fatal("the frame did not come")
		}
		if n, _ := unix.Poll([]unix.PollFd{{Fd: int32(w.fd), Events: unix.POLLIN}}, left); n < 1 {
			continue
		}
		n, err := unix.Read(w.fd, buf)
		must(w.t, err)
		if want(buf[:n]) {
			return buf[:n]
		}
	}
}

func must(t fataler, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func newDriver(t testing.TB, dir string) *Driver {
	t.Helper()
	d, err := New(Options{RunDir: dir, Log: slog.New(slog.NewTextHandler(t.Output(), nil))})
	must(t, err)
	t.Cleanup(func() { must(t, d.Close()) })
	return d
}

func openPort(t testing.TB, d *Driver, ifname string, opt OpenOptions) *Port {
	t.Helper()
	p, err := d.Open(ifname, opt)
	must(t, err)
	t.Cleanup(func() {
		if !p.closed {
			must(t, p.Close())
		}
	})
	return p
}

// awaitFrames waits in poll until the receive ring of queue q shows frames.
func awaitFrames(t testing.TB, p *Port, q int) {
	t.Helper()
	for deadline := time.Now().Add(patience); ; {
		must(t, p.RxSync(q))
		if p.RX(q).Space() > 0 {
			return
		}
		left := int(time.Until(deadline).Milliseconds())
		if left <= 0 {
			t.Fatalf("no frame on queue %d; %v", q, p.Counters(q))
		}
		_, _ = unix.Poll([]unix.PollFd{{Fd: int32(p.PollFD(q)), Events: unix.POLLIN}}, left)
	}
}

// forward moves what has arrived on queue q of from to queue q of to.
func forward(from, to *Port, q int) (int, error) {
	if err := from.RxSync(q); err != nil {
		return 0, err
	}
	rx, tx := from.RX(q), to.TX(q)
	n, moved := min(rx.Space(), tx.Space()), 0
	r, d := rx.Head(), tx.Head()
	for range n {
		if nmring.Move(rx, rx.Slot(r), tx, tx.Slot(d)) {
			d = tx.Next(d)
			moved++
		}
		r = rx.Next(r)
	}
	rx.SetHead(r)
	tx.SetHead(d)
	return moved, to.TxSync(q)
}
