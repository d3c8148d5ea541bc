//go:build linux

package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
)

type results struct {
	names   []string
	lookups map[string]map[string][]float64 // Mlookups/s by implementation and stream
	loads   map[string][]float64            // s
	removes map[string][]float64            // M/s
	adds    map[string][]float64
}

// measure lets the competitors take turns, in each round from another one on. One that the CPU lacks drops out.
func measure(all []competitor, o options) (*results, error) {
	r := &results{
		lookups: map[string]map[string][]float64{},
		loads:   map[string][]float64{},
		removes: map[string][]float64{},
		adds:    map[string][]float64{},
	}
	sums := map[string]int64{}
	unsupported := map[string]bool{}
	for round := range o.rounds {
		for _, stream := range o.streams {
			for turn := range all {
				c := all[(turn+round)%len(all)]
				if unsupported[c.name] {
					continue
				}
				ns, sum, err := c.lookup(c.kind, stream, o.batch, passes[stream])
				if errors.Is(err, errUnsupported) {
					unsupported[c.name] = true
					fmt.Printf("%s: %v\n", c.name, err)
					continue
				}
				if err != nil {
					return nil, fmt.Errorf("%s: %w", c.name, err)
				}
				if want, ok := sums[stream]; ok && want != sum {
					return nil, fmt.Errorf("%s: the next hops of stream %s add up to %d, those of %s to %d: no number is worth printing",
						c.name, stream, sum, all[0].name, want)
				}
				sums[stream] = sum
				if r.lookups[c.name] == nil {
					r.lookups[c.name] = map[string][]float64{}
				}
				r.lookups[c.name][stream] = append(r.lookups[c.name][stream], float64(passes[stream]*addresses)/float64(ns)*1e3)
			}
		}
		for _, c := range all {
			if !c.updates {
				continue
			}
			removed, added, err := c.update()
			if err != nil {
				return nil, fmt.Errorf("%s: %w", c.name, err)
			}
			r.removes[c.name] = append(r.removes[c.name], updateCount/float64(removed)*1e3)
			r.adds[c.name] = append(r.adds[c.name], updateCount/float64(added)*1e3)
			if round == 0 {
				r.loads[c.name] = []float64{float64(c.load) / 1e9}
			}
		}
	}
	for _, c := range all {
		if !unsupported[c.name] {
			r.names = append(r.names, c.name)
		}
	}
	return r, nil
}

// spread prints the median and the extremes.
func spread(values []float64, format string) string {
	v := slices.Sorted(slices.Values(values))
	return fmt.Sprintf(format+" ["+format+"-"+format+"]", median(values), v[0], v[len(v)-1])
}

func median(values []float64) float64 {
	v := slices.Sorted(slices.Values(values))
	return v[len(v)/2]
}

// ratios are of the same rounds: neighbours disturb both sides of each alike.
func ratios(a, b []float64) []float64 {
	r := make([]float64, len(a))
	for i := range a {
		r[i] = a[i] / b[i]
	}
	return r
}

func (r *results) print(to io.Writer, o options) error {
	fmt.Fprintf(to, "Mlookups/s on CPU %d (%s), batches of %d, median [min-max] of %d rounds; next-hop sums agree\n",
		o.cpu, cpuModel(), o.batch, o.rounds)
	t := tabwriter.NewWriter(to, 0, 0, 2, ' ', 0)
	row := func(name string, cell func(stream string) string) {
		fmt.Fprint(t, name)
		for _, s := range o.streams {
			fmt.Fprint(t, "\t", cell(s))
		}
		fmt.Fprintln(t)
	}
	row("", func(s string) string { return s })
	for _, name := range r.names {
		row(name, func(s string) string { return spread(r.lookups[name][s], "%.0f") })
	}
	for _, peer := range []string{scalarPeer, vectorPeer} {
		if !slices.Contains(r.names, peer) {
			continue
		}
		row("\nx "+peer, func(string) string { return "" })
		for _, name := range r.names {
			row(name, func(s string) string {
				return fmt.Sprintf("%.2f", median(ratios(r.lookups[name][s], r.lookups[peer][s])))
			})
		}
	}
	fmt.Fprintf(t, "\nupdates\tload, s of CPU\tM deletes/s\tM adds/s\n")
	for _, name := range r.names {
		if r.loads[name] != nil {
			fmt.Fprintf(t, "%s\t%.3f\t%s\t%s\n", name, r.loads[name][0], spread(r.removes[name], "%.2f"), spread(r.adds[name], "%.2f"))
		}
	}
	return t.Flush()
}

func cpuModel() string {
	b, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return "unknown"
	}
	for line := range strings.Lines(string(b)) {
		if name, ok := strings.CutPrefix(line, "model name"); ok {
			return strings.TrimLeft(strings.TrimSpace(name), ": \t")
		}
	}
	return "unknown"
}
