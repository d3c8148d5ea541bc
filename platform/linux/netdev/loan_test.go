//go:build linux

package netdev

import (
	"log/slog"
	"net/netip"
	"os"
	"runtime"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
)

// openFresh opens a network namespace of the test's own. Where that is not possible the
// test skips, or fails when end-to-end tests are required.
func openFresh(t *testing.T) *Namespace {
	t.Helper()
	if os.Geteuid() != 0 {
		if os.Getenv("ROUTERD_E2E") == "require" {
			t.Fatal("network namespaces need root")
		}
		t.Skip("network namespaces need root")
	}
	runtime.LockOSThread()
	home, err := netns.Get()
	must(t, err)
	fresh, err := netns.New()
	must(t, err)
	n, err := Open(slog.New(slog.DiscardHandler))
	must(t, err)
	t.Cleanup(func() {
		must(t, n.Close())
		fresh.Close()
		if netns.Set(home) == nil {
			runtime.UnlockOSThread()
		}
		home.Close()
	})
	must(t, netlink.LinkAdd(&netlink.Veth{LinkAttrs: netlink.LinkAttrs{Name: "xa", MTU: 1500}, PeerName: "pa"}))
	return n
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// view is what a loan may change.
type view struct {
	Up        bool
	MTU       int
	Addresses []string
}

func look(t *testing.T, name string) view {
	t.Helper()
	link, err := netlink.LinkByName(name)
	must(t, err)
	addrs, err := netlink.AddrList(link, netlink.FAMILY_V4)
	must(t, err)
	v := view{Up: link.Attrs().RawFlags&1 != 0, MTU: link.Attrs().MTU}
	for _, a := range addrs {
		v.Addresses = append(v.Addresses, a.IPNet.String())
	}
	slices.Sort(v.Addresses)
	return v
}

func prefixes(list ...string) []netip.Prefix {
	var out []netip.Prefix
	for _, s := range list {
		out = append(out, netip.MustParsePrefix(s))
	}
	return out
}

func expect(t *testing.T, when string, want view) {
	t.Helper()
	if diff := cmp.Diff(want, look(t, "xa")); diff != "" {
		t.Errorf("%s (-want +got)\n%s", when, diff)
	}
}

func TestLoanOfACrashedProcessIsTakenOver(t *testing.T) {
	n := openFresh(t)
	dir := t.TempDir()
	before := look(t, "xa")

	first, err := n.Borrow("xa", dir)
	must(t, err)
	must(t, first.SetMTU(1300))
	must(t, first.SetUp())
	must(t, first.SetAddresses(prefixes("192.0.2.1/24", "198.51.100.1/30")))
	expect(t, "while lent", view{true, 1300, []string{"192.0.2.1/24", "198.51.100.1/30"}})
	// The process dies here: nothing is returned.

	second, err := n.Borrow("xa", dir)
	must(t, err)
	must(t, second.SetMTU(1200))
	must(t, second.SetUp())
	must(t, second.SetAddresses(prefixes("198.51.100.1/30", "203.0.113.1/24")))
	expect(t, "after the takeover", view{true, 1200, []string{"198.51.100.1/30", "203.0.113.1/24"}})
	must(t, second.SetMTU(0))
	expect(t, "with the system's MTU", view{true, 1500, []string{"198.51.100.1/30", "203.0.113.1/24"}})
	must(t, second.Return())
	expect(t, "at last", before)
}

func TestSettleReturnsWhatNobodyClaims(t *testing.T) {
	n := openFresh(t)
	dir := t.TempDir()
	before := look(t, "xa")
	loan, err := n.Borrow("xa", dir)
	must(t, err)
	must(t, loan.SetUp())
	must(t, loan.SetAddresses(prefixes("192.0.2.1/24")))
	must(t, n.Settle(dir, map[string]bool{"xa": true}))
	expect(t, "claimed", view{true, 1500, []string{"192.0.2.1/24"}})
	must(t, n.Settle(dir, nil))
	expect(t, "not claimed", before)
	if left, _ := os.ReadDir(dir); len(left) != 0 {
		t.Errorf("left: %v", left)
	}
}

func TestSettleForgetsInterfacesThatAreGone(t *testing.T) {
	n := openFresh(t)
	dir := t.TempDir()
	loan, err := n.Borrow("xa", dir)
	must(t, err)
	must(t, loan.SetUp())
	link, err := netlink.LinkByName("xa")
	must(t, err)
	must(t, netlink.LinkDel(link))
	must(t, n.Settle(dir, nil))
	if left, _ := os.ReadDir(dir); len(left) != 0 {
		t.Errorf("left: %v", left)
	}
	must(t, loan.Return())
}

func TestAddressesOfOneSubnetSurviveTheRemovalOfThePrimary(t *testing.T) {
	n := openFresh(t)
	loan, err := n.Borrow("xa", t.TempDir())
	must(t, err)
	must(t, loan.SetAddresses(prefixes("192.0.2.1/24", "192.0.2.2/24", "192.0.2.3/24")))
	must(t, loan.SetAddresses(prefixes("192.0.2.2/24", "192.0.2.3/24")))
	expect(t, "afterwards", view{false, 1500, []string{"192.0.2.2/24", "192.0.2.3/24"}})
	must(t, loan.Return())
	expect(t, "returned", view{false, 1500, nil})
}

func TestAddressesOfOthersStay(t *testing.T) {
	n := openFresh(t)
	link, err := netlink.LinkByName("xa")
	must(t, err)
	theirs, err := netlink.ParseAddr("192.0.2.1/24")
	must(t, err)
	must(t, netlink.AddrAdd(link, theirs))
	loan, err := n.Borrow("xa", t.TempDir())
	must(t, err)
	must(t, loan.SetAddresses(prefixes("192.0.2.1/24", "192.0.2.1/25")))
	must(t, loan.Return())
	expect(t, "returned", view{false, 1500, []string{"192.0.2.1/24"}})
}

func TestChangesAreJournalledBeforeTheyAreMade(t *testing.T) {
	n := openFresh(t)
	dir := t.TempDir()
	loan, err := n.Borrow("xa", dir)
	must(t, err)
	if left, _ := os.ReadDir(dir); len(left) != 0 {
		t.Errorf("a journal without a change: %v", left)
	}
	if err := loan.SetMTU(10); err == nil { // below the kernel's minimum
		t.Fatal("MTU 10 was accepted")
	}
	if _, err := os.Stat(journalPath(dir, "xa")); err != nil {
		t.Errorf("the attempt was not noted: %v", err)
	}
	must(t, loan.Return())
}

func TestVLANTagsAreKeptInFrames(t *testing.T) {
	n := openFresh(t)
	before, err := n.vlanStrip("xa")
	must(t, err)
	if !before {
		t.Log("veth does not take tags off on this kernel")
	}
	loan, err := n.Borrow("xa", t.TempDir())
	must(t, err)
	kept, err := loan.KeepVLANTags()
	must(t, err)
	if now, err := n.vlanStrip("xa"); err != nil || !kept || now {
		t.Errorf("kept %v, tags are taken off %v, %v", kept, now, err)
	}
	must(t, loan.Return())
	if now, err := n.vlanStrip("xa"); err != nil || now != before {
		t.Errorf("after Return %v, before %v, %v", now, before, err)
	}
}
