package bgp

import (
	"encoding/binary"
	"net/netip"
	"slices"
	"strconv"

	"github.com/osrg/gobgp/v4/pkg/packet/bgp"
)

// prefix4 is an IPv4 prefix in a word: address in the upper 32 bits, length below.
// Session tables hold one for each prefix of a full table.
type prefix4 uint64

func pack(p netip.Prefix) prefix4 {
	a := p.Addr().As4()
	return prefix4(binary.BigEndian.Uint32(a[:]))<<32 | prefix4(p.Bits())
}

func (p prefix4) addr() uint32 { return uint32(p >> 32) }
func (p prefix4) bits() int    { return int(p & 0xff) }

func (p prefix4) prefix() netip.Prefix {
	var a [4]byte
	binary.BigEndian.PutUint32(a[:], p.addr())
	return netip.PrefixFrom(netip.AddrFrom4(a), p.bits())
}

// update is one UPDATE message as the session needs it.
type update struct {
	advert   *advert // nil: nothing announced
	reach    []prefix4
	withdraw []prefix4
	endOfRIB bool
}

// advert is the path that one UPDATE announces, before any check of ours.
type advert struct {
	key       string // equal for equal adverts
	nextHop   netip.Addr
	attrs     Attrs // LocalPref as received; 0 with hasPref false where absent
	hasPref   bool
	ases      []uint32 // every AS of the path, sets included, in order
	malformed bool     // RFC 7606: this announcement withdraws
}

// decode reads what GoBGP's parser made of an UPDATE message. The prefixes of an
// UPDATE that has to be treated as a withdraw come back as withdrawn. Families but
// IPv4 unicast are passed over.
func decode(nlri, withdrawn []bgp.PathNLRI, attrs []bgp.PathAttributeInterface, asWithdraw bool) update {
	var u update
	var reachable []bgp.PathNLRI // of an MP_REACH_NLRI, which has its own next hop
	var mpNextHop netip.Addr
	ad := &advert{}
	for _, a := range attrs {
		switch a := a.(type) {
		case *bgp.PathAttributeMpReachNLRI:
			if a.AFI == bgp.AFI_IP && a.SAFI == bgp.SAFI_UNICAST {
				reachable, mpNextHop = a.Value, a.Nexthop.Unmap()
			}
		case *bgp.PathAttributeMpUnreachNLRI:
			if a.AFI == bgp.AFI_IP && a.SAFI == bgp.SAFI_UNICAST {
				u.withdraw = appendPrefixes(u.withdraw, a.Value)
				u.endOfRIB = len(a.Value) == 0 && len(attrs) == 1
			}
		default:
			ad.read(a)
		}
	}
	u.withdraw = appendPrefixes(u.withdraw, withdrawn)
	u.reach = appendPrefixes(appendPrefixes(u.reach, nlri), reachable)
	if len(nlri) == 0 && len(withdrawn) == 0 && len(attrs) == 0 {
		u.endOfRIB = true
	}
	if len(nlri) == 0 {
		ad.nextHop = mpNextHop
	} else if len(reachable) > 0 && ad.nextHop != mpNextHop {
		ad.malformed = true // two next hops in one message: believe neither
	}
	switch {
	case len(u.reach) == 0:
	case asWithdraw || ad.malformed:
		u.withdraw, u.reach = append(u.withdraw, u.reach...), nil
	default:
		ad.key = ad.identity()
		u.advert = ad
	}
	return u
}

func appendPrefixes(to []prefix4, from []bgp.PathNLRI) []prefix4 {
	to = slices.Grow(to, len(from))
	for _, n := range from {
		ip, ok := n.NLRI.(*bgp.IPAddrPrefix)
		if !ok || !ip.Prefix.Addr().Is4() || ip.Prefix.Bits() < 0 {
			continue
		}
		to = append(to, pack(ip.Prefix.Masked()))
	}
	return to
}

func (ad *advert) read(a bgp.PathAttributeInterface) {
	switch a := a.(type) {
	case *bgp.PathAttributeOrigin:
		ad.attrs.Origin = a.Value
	case *bgp.PathAttributeAsPath:
		ad.readASPath(a.Value)
	case *bgp.PathAttributeNextHop:
		ad.nextHop = a.Value.Unmap()
	case *bgp.PathAttributeMultiExitDisc:
		ad.attrs.MED, ad.attrs.HasMED = a.Value, true
	case *bgp.PathAttributeLocalPref:
		ad.attrs.LocalPref, ad.hasPref = a.Value, true
	case *bgp.PathAttributeAtomicAggregate:
		ad.attrs.Atomic = true
	case *bgp.PathAttributeAggregator:
		ad.attrs.Aggregator = Aggregator{a.Value.AS, a.Value.Address}
	case *bgp.PathAttributeCommunities:
		ad.attrs.Communities = slices.Clone(a.Value)
	case *bgp.PathAttributeLargeCommunities:
		for _, c := range a.Values {
			ad.attrs.Large = append(ad.attrs.Large, LargeCommunity{c.ASN, c.LocalData1, c.LocalData2})
		}
	case *bgp.PathAttributeOriginatorId:
		ad.attrs.Originator = a.Value
	case *bgp.PathAttributeClusterList:
		ad.attrs.Clusters = len(a.Value)
	}
}

func (ad *advert) readASPath(segments []bgp.AsPathParamInterface) {
	text := make([]byte, 0, 64)
	for i, segment := range segments {
		ases := segment.GetAS()
		if len(ases) == 0 {
			ad.malformed = true // RFC 7606, section 7.2
			continue
		}
		begin, between, end := "", " ", ""
		switch segment.GetType() {
		case bgp.BGP_ASPATH_ATTR_TYPE_SEQ:
			ad.attrs.PathLen += len(ases)
			if i == 0 {
				ad.attrs.NeighborAS = ases[0]
			}
			ad.attrs.OriginAS = ases[len(ases)-1]
		case bgp.BGP_ASPATH_ATTR_TYPE_SET:
			begin, between, end = "{", ",", "}"
			ad.attrs.PathLen++
			ad.attrs.OriginAS = 0
		default: // confederation segments have no place in a path from outside
			begin, end = "(", ")"
			ad.attrs.OriginAS = 0
		}
		if i > 0 {
			text = append(text, ' ')
		}
		text = append(text, begin...)
		for j, as := range ases {
			if j > 0 {
				text = append(text, between...)
			}
			text = strconv.AppendUint(text, uint64(as), 10)
			if as == 0 {
				ad.malformed = true // RFC 7607
			}
		}
		text = append(text, end...)
		ad.ases = append(ad.ases, ases...)
	}
	ad.attrs.ASPath = string(text)
}

// identity is a string that two adverts share exactly when they are the same path.
func (ad *advert) identity() string {
	at := &ad.attrs
	b := make([]byte, 0, 64+len(at.ASPath)+4*len(at.Communities)+12*len(at.Large))
	flags := at.Origin << 4
	for i, set := range []bool{at.HasMED, ad.hasPref, at.Atomic} {
		if set {
			flags |= 1 << i
		}
	}
	hop, agg, originator := ad.nextHop.As16(), at.Aggregator.Address.As16(), at.Originator.As16()
	b = append(b, flags)
	b = append(b, hop[:]...)
	b = binary.BigEndian.AppendUint32(b, at.MED)
	b = binary.BigEndian.AppendUint32(b, at.LocalPref)
	b = binary.BigEndian.AppendUint32(b, at.Aggregator.AS)
	b = append(b, agg[:]...)
	b = append(b, originator[:]...)
	b = binary.BigEndian.AppendUint32(b, uint32(at.Clusters))
	b = binary.BigEndian.AppendUint32(b, uint32(len(at.Communities)))
	for _, c := range at.Communities {
		b = binary.BigEndian.AppendUint32(b, c)
	}
	b = binary.BigEndian.AppendUint32(b, uint32(len(at.Large)))
	for _, c := range at.Large {
		b = binary.BigEndian.AppendUint32(b, c.Global)
		b = binary.BigEndian.AppendUint32(b, c.Local1)
		b = binary.BigEndian.AppendUint32(b, c.Local2)
	}
	return string(append(b, at.ASPath...))
}
