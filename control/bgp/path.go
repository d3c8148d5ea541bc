package bgp

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// Change is one prefix of one neighbour: its path after import policy, or none.
type Change struct {
	Prefix netip.Prefix
	Peer   netip.Addr
	Path   *Path // nil: this neighbour no longer has a path for Prefix
}

// Path is a path to any number of prefixes. Equal paths of a session share one
// Path; nobody changes it after it was handed out.
type Path struct {
	Peer     netip.Addr // neighbour it came from
	PeerAS   uint32
	PeerID   netip.Addr // BGP identifier of the neighbour
	Internal bool       // learned over iBGP
	NextHop  netip.Addr
	Attrs    *Attrs
}

// Origin values of RFC 4271, section 5.1.1, in order of preference.
const (
	OriginIGP        uint8 = 0
	OriginEGP        uint8 = 1
	OriginIncomplete uint8 = 2
)

// DefaultLocalPref is the LOCAL_PREF of a path that has none, and of every eBGP
// path before policy.
const DefaultLocalPref uint32 = 100

// Attrs are the path attributes that decide or that operators look at.
type Attrs struct {
	Origin      uint8
	ASPath      string // as operators write it: "64496 3356 {64510,64511}"
	PathLen     int    // for the decision: a set counts 1, confederation segments 0
	NeighborAS  uint32 // first AS of the path, 0 where it begins with a set or is empty
	OriginAS    uint32 // last AS of the path, 0 where it ends with a set or is empty
	LocalPref   uint32
	MED         uint32
	HasMED      bool
	Communities []uint32 // RFC 1997, in the order received
	Large       []LargeCommunity
	Atomic      bool       // ATOMIC_AGGREGATE
	Aggregator  Aggregator // zero where absent
	Originator  netip.Addr // ORIGINATOR_ID of route reflection, invalid where absent
	Clusters    int        // length of CLUSTER_LIST
}

// LargeCommunity is a community of RFC 8092.
type LargeCommunity struct{ Global, Local1, Local2 uint32 }

func (c LargeCommunity) String() string {
	return fmt.Sprintf("%d:%d:%d", c.Global, c.Local1, c.Local2)
}

// Aggregator says who formed an aggregate.
type Aggregator struct {
	AS      uint32
	Address netip.Addr
}

func (a *Attrs) equal(b *Attrs) bool {
	return a.Origin == b.Origin && a.ASPath == b.ASPath && a.LocalPref == b.LocalPref &&
		a.MED == b.MED && a.HasMED == b.HasMED && a.Atomic == b.Atomic &&
		a.Aggregator == b.Aggregator && a.Originator == b.Originator && a.Clusters == b.Clusters &&
		slices.Equal(a.Communities, b.Communities) && slices.Equal(a.Large, b.Large)
}

var wellKnown = map[string]uint32{
	"graceful-shutdown":   0xffff0000, // RFC 8326
	"accept-own":          0xffff0001, // RFC 7611
	"blackhole":           0xffff029a, // RFC 7999
	"no-export":           communityNoExport,
	"no-advertise":        communityNoAdvertise,
	"no-export-subconfed": communityNoExportSubconfed,
	"no-peer":             0xffffff04, // RFC 3765
}

const ( // RFC 1997
	communityNoExport          uint32 = 0xffffff01
	communityNoAdvertise       uint32 = 0xffffff02
	communityNoExportSubconfed uint32 = 0xffffff03
)

// ParseCommunity reads "64500:100" or the name of a well-known community.
func ParseCommunity(s string) (uint32, error) {
	if c, ok := wellKnown[s]; ok {
		return c, nil
	}
	high, low, ok := strings.Cut(s, ":")
	if ok {
		as, err1 := strconv.ParseUint(high, 10, 16)
		value, err2 := strconv.ParseUint(low, 10, 16)
		if err1 == nil && err2 == nil {
			return uint32(as)<<16 | uint32(value), nil
		}
	}
	return 0, fmt.Errorf("community %q: want AS:value, each 0 to 65535, or a well-known name such as no-export", s)
}

// FormatCommunity writes c as operators do, for example "64500:100".
func FormatCommunity(c uint32) string {
	return strconv.Itoa(int(c>>16)) + ":" + strconv.Itoa(int(c&0xffff))
}
