package main

import (
	"bufio"
	"fmt"
	"net/netip"
	"os"
)

// readPrefixes returns the prefixes of the command line, then those of the file.
func readPrefixes(file string, args []string) ([]netip.Prefix, error) {
	var prefixes []netip.Prefix
	add := func(text string) error {
		p, err := netip.ParsePrefix(text)
		if err != nil {
			return err
		}
		if !p.Addr().Is4() || p != p.Masked() {
			return fmt.Errorf("%s is no IPv4 prefix without host bits", text)
		}
		prefixes = append(prefixes, p)
		return nil
	}
	for _, arg := range args {
		if err := add(arg); err != nil {
			return nil, err
		}
	}
	if file == "" {
		return prefixes, nil
	}
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for n := 1; lines.Scan(); n++ {
		if err := add(lines.Text()); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", file, n, err)
		}
	}
	return prefixes, lines.Err()
}
