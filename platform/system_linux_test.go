package platform

import (
	"os"
	"runtime"
	"strings"
	"testing"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"
)

func TestDeviceStringsThatAreRefused(t *testing.T) {
	for device, want := range map[string]string{
		"":                 "a device is named by its driver and a name",
		"eth0":             `such as "xdp:eth0"`,
		"xdp:":             "a device is named by its driver and a name",
		"pci:0000:03:00.0": `driver "pci" is not part of this version, which has xdp`,
		"netmap:em0":       `driver "netmap" is not part of this version, which has xdp`,
		"dpdk:0":           `there is no driver "dpdk"; this version has xdp`,
	} {
		port, err := (&System{}).Open(device, OpenOptions{})
		if port != nil || err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want …%s…", device, err, want)
		}
	}
}

func TestOpenXDP(t *testing.T) {
	if os.Geteuid() != 0 {
		if os.Getenv("ROUTERD_E2E") == "require" {
			t.Fatal("network namespaces need root")
		}
		t.Skip("network namespaces need root")
	}
	runtime.LockOSThread() // and the thread ends with the test: it stays in the namespace
	fresh, err := netns.New()
	if err != nil {
		t.Fatal(err)
	}
	defer fresh.Close()
	if err := netlink.LinkAdd(&netlink.Veth{LinkAttrs: netlink.LinkAttrs{Name: "xa", MTU: 1500}, PeerName: "pa"}); err != nil {
		t.Fatal(err)
	}
	s, err := New(Options{RunDir: t.TempDir(), Buffers: 1024})
	if err != nil {
		t.Fatal(err)
	}
	_, err = s.Open("xdp:eth9", OpenOptions{})
	if err == nil || !strings.Contains(err.Error(), `xdp:eth9: no such interface "eth9"; interfaces: pa, xa`) {
		t.Errorf("a missing interface: %v", err)
	}
	p, err := s.Open("xdp:xa", OpenOptions{Slots: 64})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err == nil {
		t.Error("the system closed under an open port")
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

func TestPinThread(t *testing.T) {
	runtime.LockOSThread() // and the thread ends with the test
	var allowed unix.CPUSet
	if err := unix.SchedGetaffinity(0, &allowed); err != nil {
		t.Fatal(err)
	}
	cpu := 0
	for !allowed.IsSet(cpu) {
		cpu++
	}
	if err := PinThread(cpu); err != nil {
		t.Fatal(err)
	}
	var now, want unix.CPUSet
	want.Set(cpu)
	if err := unix.SchedGetaffinity(0, &now); err != nil || now != want {
		t.Errorf("the thread may run on %s: %v", ranges(&now), err)
	}
	for _, wrong := range []int{-1, 1023, 5000} {
		if err := PinThread(wrong); err == nil || !strings.Contains(err.Error(), "may run on CPUs") {
			t.Errorf("cpu %d: %v", wrong, err)
		}
	}
}

func TestRanges(t *testing.T) {
	for want, cpus := range map[string][]int{"": nil, "0": {0}, "0-3,8": {0, 1, 2, 3, 8}, "2,4-5,1023": {2, 4, 5, 1023}} {
		var set unix.CPUSet
		for _, c := range cpus {
			set.Set(c)
		}
		if got := ranges(&set); got != want {
			t.Errorf("%v: %q, want %q", cpus, got, want)
		}
	}
}
