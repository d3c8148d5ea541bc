//go:build linux

package main

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"os"
	"path/filepath"

	"routerd/fib/realtable"
)

const (
	nextHops    = 64
	addresses   = 1 << 22 // in a stream
	updateCount = 100_000
)

var streamNames = []string{"rnd", "pfx", "zipf", "few"}

// passes over a stream make a turn of 10 to 30 ms.
var passes = map[string]int{"rnd": 1, "pfx": 1, "zipf": 3, "few": 12}

// route is a line of the files "routes" and "updates". All files are little-endian
// and hold addresses as 32-bit integers, first octet most significant.
type route struct {
	Addr    uint32
	NextHop uint16 // 1..nextHops
	Length  uint16
}

func (r route) prefix() netip.Prefix {
	var b [4]byte
	binary.BigEndian.PutUint32(b[:], r.Addr)
	return netip.PrefixFrom(netip.AddrFrom4(b), int(r.Length))
}

// within returns a random address of the route.
func (r route) within(random *rand.Rand) uint32 {
	return r.Addr | random.Uint32()&(1<<(32-r.Length)-1)
}

func realRoutes() ([]route, error) {
	prefixes, err := realtable.Prefixes()
	if err != nil {
		return nil, err
	}
	routes := make([]route, len(prefixes))
	for i, p := range prefixes {
		b := p.Addr().As4()
		addr := binary.BigEndian.Uint32(b[:])
		hash := (uint64(addr)<<8 | uint64(p.Bits())) * 0x9e3779b97f4a7c15
		routes[i] = route{addr, uint16(hash>>32%nextHops) + 1, uint16(p.Bits())}
	}
	return routes, nil
}

// writeFiles writes the table, some routes of it in random order, and the streams:
// uniform over all addresses, uniform over the prefixes, a million flows of
// unequal size, sixteen flows.
func writeFiles(dir string) error {
	routes, err := realRoutes()
	if err != nil {
		return err
	}
	random := rand.New(rand.NewPCG(1, 2))
	updates := make([]route, updateCount)
	for i, at := range random.Perm(len(routes))[:updateCount] {
		updates[i] = routes[at]
	}
	any := func() uint32 { return routes[random.IntN(len(routes))].within(random) }
	flows := make([]uint32, 1<<20)
	for i := range flows {
		flows[i] = any()
	}
	zipf := rand.NewZipf(random, 1.1, 1, uint64(len(flows)-1))
	draw := map[string]func() uint32{
		"rnd":  random.Uint32,
		"pfx":  any,
		"zipf": func() uint32 { return flows[zipf.Uint64()] },
		"few":  func() uint32 { return flows[random.IntN(16)] },
	}
	for name, next := range draw {
		stream := make([]uint32, addresses)
		for i := range stream {
			stream[i] = next()
		}
		if err := writeFile(dir, name, stream); err != nil {
			return err
		}
	}
	if err := writeFile(dir, "updates", updates); err != nil {
		return err
	}
	return writeFile(dir, "routes", routes)
}

func writeFile(dir, name string, content any) error {
	b, err := binary.Append(nil, binary.LittleEndian, content)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, name), b, 0o600)
}

func readFile[T any](dir, name string) ([]T, error) {
	b, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		return nil, err
	}
	var one T
	content := make([]T, len(b)/binary.Size(one))
	if err := binary.Read(bytes.NewReader(b), binary.LittleEndian, content); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return content, nil
}
