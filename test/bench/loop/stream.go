package main

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"os"
)

// streamLength is the number of addresses in a stream of ours: 16 MB of them, more than
// the caches of a core hold.
const streamLength = 1 << 22

const flowCount = 1 << 20

// newStream makes the stream of a name, or reads it from a file of that name.
func newStream(name string, prefixes []netip.Prefix) ([]uint32, error) {
	random := rand.New(rand.NewPCG(1, 2))
	var draw func() uint32
	switch name {
	case "rnd":
		draw = random.Uint32
	case "pfx":
		draw = func() uint32 { return within(random, prefixes) }
	case "few":
		flows := draws(16, func() uint32 { return within(random, prefixes) })
		draw = func() uint32 { return flows[random.IntN(len(flows))] }
	case "zipf":
		flows := draws(flowCount, func() uint32 { return within(random, prefixes) })
		rank := rand.NewZipf(random, 1.1, 1, flowCount-1)
		draw = func() uint32 { return flows[rank.Uint64()] }
	default:
		return readStream(name)
	}
	return draws(streamLength, draw), nil
}

// within is a random address in a random prefix.
func within(random *rand.Rand, prefixes []netip.Prefix) uint32 {
	p := prefixes[random.IntN(len(prefixes))]
	return word(p.Addr()) | uint32(uint64(random.Uint32())>>p.Bits())
}

func word(a netip.Addr) uint32 {
	octets := a.As4()
	return binary.BigEndian.Uint32(octets[:])
}

// draws are n addresses that may be routed.
func draws(n int, draw func() uint32) []uint32 {
	all := make([]uint32, 0, n)
	for len(all) < n {
		if a := draw(); routable(a) {
			all = append(all, a)
		}
	}
	return all
}

// routable says whether a router forwards packets to an address at all.
func routable(a uint32) bool {
	first := a >> 24
	return first != 0 && first != 127 && first < 224 && a>>16 != 0xa9fe
}

func readStream(name string) ([]uint32, error) {
	b, err := os.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("stream %q: neither rnd, pfx, zipf or few nor a file: %w", name, err)
	}
	if len(b)%4 != 0 {
		return nil, fmt.Errorf("stream %q: %d bytes are no whole number of 32-bit integers", name, len(b))
	}
	var all []uint32
	for at := 0; at < len(b); at += 4 {
		if a := binary.LittleEndian.Uint32(b[at:]); routable(a) {
			all = append(all, a)
		}
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("stream %q: none of %d addresses can be routed", name, len(b)/4)
	}
	if left := len(b)/4 - len(all); left > 0 {
		fmt.Fprintf(os.Stderr, "stream %s: %d of %d addresses cannot be routed (0/8, 127/8, 169.254/16, 224/3): left out\n", name, left, len(b)/4)
	}
	return all, nil
}
