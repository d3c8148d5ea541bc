//go:build linux

package afxdp

import (
	"bufio"
	"bytes"
	"errors"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/link"
	"github.com/google/go-cmp/cmp"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"routerd/nmring"
)

var host = nmring.Settings{
	MTU:       1400,
	Addresses: []netip.Prefix{netip.MustParsePrefix("192.0.2.1/24")},
	Local:     []netip.Addr{netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("192.0.2.255")},
}

func arpRequest(src [6]byte, from, to string) []byte {
	f := bytes.Repeat([]byte{0xff}, 6)
	f = append(append(f, src[:]...), 8, 6, 0, 1, 8, 0, 6, 4, 0, 1)
	f = append(append(f, src[:]...), netip.MustParseAddr(from).AsSlice()...)
	f = append(append(f, make([]byte, 6)...), netip.MustParseAddr(to).AsSlice()...)
	return f
}

func TestHostsOwnTrafficIsTheKernels(t *testing.T) {
	enterNamespace(t)
	layVeth(t, "xa", "pa", 1)
	d := newDriver(t, t.TempDir())
	heard := make(chan []byte, 16)
	p := openPort(t, d, "xa", OpenOptions{Slots: 64, Settings: host, Events: nmring.Events{
		Overheard: func(f []byte) { heard <- bytes.Clone(f) }}})
	w := newWire(t, "pa")
	mac := macOf(t, "pa")

	request := arpRequest(mac, "192.0.2.9", "192.0.2.1")
	w.send(request)
	w.receive(func(f []byte) bool { return f[12] == 8 && f[13] == 6 && f[21] == 2 }) // the kernel's reply
	select {
	case f := <-heard:
		if !bytes.Equal(f, request) {
			t.Errorf("overheard % x", f)
		}
	case <-time.After(patience):
		t.Fatal("ARP was not overheard")
	}

	must(t, netlink.NeighSet(&netlink.Neigh{LinkIndex: p.index, State: netlink.NUD_PERMANENT,
		IP: net.IPv4(192, 0, 2, 9), HardwareAddr: mac[:]}))
	w.send(echoRequest(p.Info().MAC, mac, "192.0.2.9", "192.0.2.1"))
	w.receive(func(f []byte) bool { return len(f) > 34 && f[23] == 1 && f[34] == 0 }) // echo reply

	must(t, p.RxSync(0))
	if n := p.RX(0).Space(); n != 0 {
		t.Errorf("%d of the host's frames came to the socket", n)
	}
}

// echoRequest turns a UDP packet into an ICMP echo request.
func echoRequest(dst, src [6]byte, from, to string) []byte {
	f := udp(dst, src, netip.MustParseAddr(to), 0, 4)
	copy(f[26:30], netip.MustParseAddr(from).AsSlice())
	f[23], f[24], f[25] = 1, 0, 0
	copy(f[34:], []byte{8, 0, 0xf7, 0xff, 0, 0, 0, 0, 0, 0, 0, 0})
	sum := uint32(0)
	for i := 14; i < 34; i += 2 {
		sum += uint32(f[i])<<8 | uint32(f[i+1])
	}
	sum = sum>>16 + sum&0xffff
	sum = ^(sum>>16 + sum)
	f[24], f[25] = byte(sum>>8), byte(sum)
	return f
}

// kernelSide is what Close has to restore.
type kernelSide struct {
	Flags     uint32
	MTU       int
	XDP       bool
	Addresses []string
}

func kernelSideOf(t testing.TB, name string) kernelSide {
	t.Helper()
	l := linkOf(t, name)
	a := l.Attrs()
	k := kernelSide{Flags: a.RawFlags, MTU: a.MTU, XDP: a.Xdp != nil && a.Xdp.Attached}
	addrs, err := netlink.AddrList(l, netlink.FAMILY_V4)
	must(t, err)
	for _, a := range addrs {
		k.Addresses = append(k.Addresses, a.IPNet.String())
	}
	return k
}

func TestCloseRestores(t *testing.T) {
	for _, up := range []bool{false, true} {
		enterNamespace(t)
		layVeth(t, "xa", "pa", 1)
		keep, err := netlink.ParseAddr("192.0.2.77/24")
		must(t, err)
		must(t, netlink.AddrAdd(linkOf(t, "xa"), keep))
		if up {
			must(t, netlink.LinkSetUp(linkOf(t, "xa")))
		}
		before := kernelSideOf(t, "xa")
		dir := t.TempDir()
		d := newDriver(t, dir)
		p := openPort(t, d, "xa", OpenOptions{Slots: 64, Settings: host})
		during := kernelSideOf(t, "xa")
		if !during.XDP || during.MTU != 1400 || len(during.Addresses) != 2 || during.Flags&unix.IFF_UP == 0 {
			t.Errorf("while open: %+v", during)
		}
		changed := host
		changed.MTU = 0
		changed.Addresses = []netip.Prefix{netip.MustParsePrefix("198.51.100.1/30")}
		must(t, p.Configure(changed))
		want := kernelSide{Flags: during.Flags, MTU: 1500, XDP: true, Addresses: []string{"192.0.2.77/24", "198.51.100.1/30"}}
		if diff := cmp.Diff(want, kernelSideOf(t, "xa")); diff != "" {
			t.Error("after Configure (-want +got)\n", diff)
		}
		must(t, p.Close())
		if diff := cmp.Diff(before, kernelSideOf(t, "xa")); diff != "" {
			t.Error("after Close (-want +got)\n", diff)
		}
		if left, _ := os.ReadDir(dir); len(left) != 0 {
			t.Errorf("files left: %v", left)
		}
	}
}

// TestMain also is the process that TestKilledProcess kills.
func TestMain(m *testing.M) {
	dir := os.Getenv("AFXDP_TEST_HOLD")
	if dir == "" {
		os.Exit(m.Run())
	}
	d, err := New(Options{RunDir: dir})
	if err == nil {
		_, err = d.Open("xa", OpenOptions{Slots: 64, Settings: host})
	}
	if err != nil {
		os.Stdout.WriteString(err.Error() + "\n")
		os.Exit(1)
	}
	os.Stdout.WriteString("open\n")
	select {}
}

func TestKilledProcess(t *testing.T) {
	enterNamespace(t)
	layVeth(t, "xa", "pa", 1)
	before := kernelSideOf(t, "xa")
	dir := t.TempDir()
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), "AFXDP_TEST_HOLD="+dir)
	out, err := child.StdoutPipe()
	must(t, err)
	must(t, child.Start())
	defer child.Process.Kill()
	if line, _ := bufio.NewReader(out).ReadString('\n'); line != "open\n" {
		t.Fatalf("the child says %q", line)
	}
	if !kernelSideOf(t, "xa").XDP {
		t.Fatal("the child has attached nothing")
	}

	d := newDriver(t, dir)
	_, err = d.Open("xa", OpenOptions{})
	if err == nil || !strings.Contains(err.Error(), "another routerd has the interface") {
		t.Errorf("a second process gets: %v", err)
	}
	if diff := cmp.Diff(1400, kernelSideOf(t, "xa").MTU); diff != "" {
		t.Error("the second process has changed the interface", diff)
	}

	must(t, child.Process.Kill())
	_ = child.Wait()
	left := kernelSideOf(t, "xa")
	if left.XDP {
		t.Fatal("the program outlives its process")
	}
	if len(left.Addresses) != 1 {
		t.Errorf("addresses after the kill: %v, want ours to stay for the successor", left.Addresses)
	}
	p := openPort(t, d, "xa", OpenOptions{Slots: 64, Settings: host})
	must(t, p.Close())
	if diff := cmp.Diff(before, kernelSideOf(t, "xa")); diff != "" {
		t.Error("the successor takes our leftovers for the original (-want +got)\n", diff)
	}
}

func TestInterfaceDeletedUnderTraffic(t *testing.T) {
	enterNamespace(t)
	layVeth(t, "xa", "pa", 1)
	d := newDriver(t, t.TempDir())
	free := d.Region().Available()
	down := make(chan bool, 16)
	p := openPort(t, d, "xa", OpenOptions{Slots: 64, Settings: host, Events: nmring.Events{
		Overheard: func([]byte) {}, Link: func(up bool) { down <- up }}})
	w := newWire(t, "pa")
	for seq := range uint32(30) {
		w.send(udp(p.Info().MAC, macOf(t, "pa"), transit, seq, 40))
	}
	_, err := forward(p, p, 0)
	must(t, err)
	for seq := range uint32(30) {
		w.send(udp(p.Info().MAC, macOf(t, "pa"), transit, seq, 40))
	}
	must(t, netlink.LinkDel(linkOf(t, "xa")))
	for timeout := time.After(patience); ; {
		select {
		case up := <-down:
			if up {
				continue
			}
		case <-timeout:
			t.Fatal("nobody told that the interface went")
		}
		break
	}
	for deadline := time.Now().Add(patience); !errors.Is(p.RxSync(0), nmring.ErrGone); {
		if time.Now().After(deadline) {
			t.Fatal("RxSync does not tell that the interface has gone")
		}
		_, _ = unix.Poll(nil, 1)
	}
	if err := p.TxSync(0); !errors.Is(err, nmring.ErrGone) {
		t.Errorf("TxSync: %v", err)
	}
	if err := p.Configure(host); !errors.Is(err, nmring.ErrGone) {
		t.Errorf("Configure: %v", err)
	}
	if info := p.Info(); info.Up {
		t.Errorf("Info: %+v", info)
	}
	must(t, p.Close())
	if got := d.Region().Available(); got != free {
		t.Errorf("%d buffers free after Close, %d before", got, free)
	}
}

func TestLinkEvents(t *testing.T) {
	enterNamespace(t)
	layVeth(t, "xa", "pa", 1)
	d := newDriver(t, t.TempDir())
	events := make(chan bool, 16)
	p := openPort(t, d, "xa", OpenOptions{Slots: 64, Events: nmring.Events{Link: func(up bool) { events <- up }}})
	await := func(want bool) {
		t.Helper()
		for timeout := time.After(patience); ; {
			select {
			case up := <-events:
				if up == want && p.Info().Up == want {
					return
				}
			case <-timeout:
				t.Fatalf("no event that the link is up=%v", want)
			}
		}
	}
	if p.Info().Up {
		<-events
	} else {
		await(true)
	}
	must(t, netlink.LinkSetDown(linkOf(t, "pa")))
	await(false)
	must(t, netlink.LinkSetUp(linkOf(t, "pa")))
	await(true)
}

func TestRefusals(t *testing.T) {
	enterNamespace(t)
	layVeth(t, "xa", "pa", 2)
	d := newDriver(t, t.TempDir())
	free := d.Region().Available()
	before := kernelSideOf(t, "xa")
	refuse := func(ifname string, opt OpenOptions, want string) {
		t.Helper()
		_, err := d.Open(ifname, opt)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got:  %v\nwant: …%s…", err, want)
		}
	}
	refuse("xb", OpenOptions{}, `xdp:xb: no such interface "xb"; did you mean "xa"? interfaces: pa, xa`)
	refuse("", OpenOptions{}, "no such interface")
	refuse("xa", OpenOptions{Queues: 3}, "3 queues wanted, xa has at most 2: set queues = 2 in the port block")
	refuse("xa", OpenOptions{Settings: nmring.Settings{MTU: 9000}}, "MTU 9000 is too big")
	refuse("xa", OpenOptions{Queues: 1}, "ethtool -L PEER tx 1") // the peer sends on two
	refuse("xa", OpenOptions{Slots: 1}, "a ring has 2 to 32768 slots")
	refuse("xa", OpenOptions{Slots: 16000}, nmring.ErrNoBuffers.Error())

	pass, err := ebpf.NewProgram(&ebpf.ProgramSpec{Name: "xdp_pass", Type: ebpf.XDP, License: "GPL",
		Instructions: asm.Instructions{asm.Mov.Imm(asm.R0, xdpPass), asm.Return()}})
	must(t, err)
	defer pass.Close()
	l, err := link.AttachXDP(link.XDPOptions{Program: pass, Interface: linkOf(t, "xa").Attrs().Index})
	must(t, err)
	refuse("xa", OpenOptions{}, "name xdp_pass) is already attached; remove it with: ip link set dev xa xdp off")
	must(t, l.Close())

	if diff := cmp.Diff(before, kernelSideOf(t, "xa")); diff != "" {
		t.Error("a refusal left something behind (-want +got)\n", diff)
	}
	if got := d.Region().Available(); got != free {
		t.Errorf("%d buffers free after the refusals, %d before", got, free)
	}
	p := openPort(t, d, "xa", OpenOptions{Slots: 64})
	refuse("xa", OpenOptions{}, "is open already")
	must(t, p.Close())
}

func TestQueuesAreFittedAndRestored(t *testing.T) {
	enterNamespace(t)
	layVeth(t, "xa", "pa", 1)
	must(t, netlink.LinkDel(linkOf(t, "xa")))
	must(t, netlink.LinkAdd(&netlink.Veth{LinkAttrs: netlink.LinkAttrs{Name: "xa", NumTxQueues: 4, NumRxQueues: 4, MTU: 1500},
		PeerName: "pa", PeerNumTxQueues: 1, PeerNumRxQueues: 4}))
	d := newDriver(t, t.TempDir())
	rx := func() int {
		loan, err := d.ns.Borrow("xa", t.TempDir())
		must(t, err)
		n, err := loan.SetQueues(0)
		must(t, err)
		return n
	}
	p := openPort(t, d, "xa", OpenOptions{Queues: 2, Slots: 64})
	if n := rx(); n != 2 || p.Queues() != 2 {
		t.Errorf("while open: %d queues of the interface, %d of the port; want 2", n, p.Queues())
	}
	must(t, p.Close())
	if n := rx(); n != 4 {
		t.Errorf("after Close %d queues, want 4", n)
	}
	loan, err := d.ns.Borrow("xa", t.TempDir())
	must(t, err)
	_, err = loan.SetQueues(1)
	must(t, err)
	p = openPort(t, d, "xa", OpenOptions{Queues: 2, Slots: 64})
	must(t, p.Close()) // takes away a queue whose socket the kernel may not have let go of yet
	if n := rx(); n != 1 {
		t.Errorf("after Close %d queues, want 1", n)
	}
}

func TestQueueIsFreeAfterClose(t *testing.T) {
	enterNamespace(t)
	layVeth(t, "xa", "pa", 1)
	d := newDriver(t, t.TempDir())
	p := openPort(t, d, "xa", OpenOptions{Slots: 64})
	must(t, p.Close())
	if !awaitRelease(d.umem, p.index, 0) {
		t.Error("the queue stays busy")
	}
	p = openPort(t, d, "xa", OpenOptions{Slots: 64})
	must(t, p.Close())
	if err := p.Close(); !errors.Is(err, os.ErrClosed) {
		t.Errorf("a second Close: %v", err)
	}
}

func TestInterfaceWithoutNativeXDP(t *testing.T) {
	enterNamespace(t)
	must(t, netlink.LinkAdd(&netlink.Bridge{LinkAttrs: netlink.LinkAttrs{Name: "ba", MTU: 1500}}))
	d := newDriver(t, t.TempDir())
	p := openPort(t, d, "ba", OpenOptions{Slots: 64})
	info := p.Info()
	if info.Mode != "copy, generic XDP" || len(info.Notes) == 0 {
		t.Errorf("Info: %+v", info)
	}
}

func TestChangedMACAddressIsFollowed(t *testing.T) {
	enterNamespace(t)
	layVeth(t, "xa", "pa", 1)
	d := newDriver(t, t.TempDir())
	p := openPort(t, d, "xa", OpenOptions{Slots: 64})
	mac := [6]byte{2, 0, 0, 0, 0, 0x77}
	must(t, netlink.LinkSetHardwareAddr(linkOf(t, "xa"), mac[:]))
	for deadline := time.Now().Add(patience); p.Info().MAC != mac; {
		if time.Now().After(deadline) {
			t.Fatal("Info shows the old address")
		}
		_, _ = unix.Poll(nil, 1)
	}
	newWire(t, "pa").send(udp(mac, macOf(t, "pa"), transit, 1, 40))
	awaitFrames(t, p, 0)
}
