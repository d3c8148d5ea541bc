package config

import (
	"slices"
	"strings"
)

// TextDiff compares the canonical texts of two configurations line by line, their
// alignment aside: removed lines start with "-", added ones with "+", and the lines that open the blocks
// around them with a space. It is empty for equal texts.
func TextDiff(old, new *Config) string {
	a := strings.Split(string(format(old, false)), "\n")
	b := strings.Split(string(format(new, false)), "\n")
	var out strings.Builder
	var open []string // the lines that open the blocks around the current line
	printed := 0      // how many of them are printed
	for _, e := range lineDiff(a, b) {
		depth := (len(e.text) - len(strings.TrimLeft(e.text, " "))) / 2
		if e.text == "" {
			continue
		}
		open = open[:min(depth, len(open))]
		printed = min(printed, len(open))
		opens := strings.HasSuffix(e.text, "{") || strings.HasSuffix(e.text, "[")
		if e.sign != ' ' {
			for ; printed < len(open); printed++ {
				out.WriteString("  " + open[printed] + "\n")
			}
			out.WriteString(string(e.sign) + " " + e.text + "\n")
		}
		if opens {
			open = append(open, e.text)
			if e.sign != ' ' {
				printed = len(open)
			}
		}
	}
	return out.String()
}

// edit is one line of a comparison: ' ' in both, '-' only in the old, '+' only in the
// new text.
type edit struct {
	sign rune
	text string
}

// editLimit bounds the work on two texts that have little in common: beyond it the
// middle of the one replaces that of the other.
const editLimit = 2000

// lineDiff gives a shortest edit script (Myers, "An O(ND) difference algorithm and its
// variations", 1986) for what lies between the common start and end of both texts.
func lineDiff(a, b []string) []edit {
	start := 0
	for start < len(a) && start < len(b) && a[start] == b[start] {
		start++
	}
	end := 0
	for end < len(a)-start && end < len(b)-start && a[len(a)-1-end] == b[len(b)-1-end] {
		end++
	}
	edits := same(a[:start])
	edits = append(edits, shortestEdit(a[start:len(a)-end], b[start:len(b)-end])...)
	return append(edits, same(a[len(a)-end:])...)
}

func same(lines []string) []edit {
	edits := make([]edit, len(lines))
	for i, line := range lines {
		edits[i] = edit{' ', line}
	}
	return edits
}

func shortestEdit(a, b []string) []edit {
	limit := min(len(a)+len(b), editLimit)
	reach := make([]int, 2*limit+2) // furthest index in a on diagonal k, at k+limit
	var history [][]int
	for d := 0; d <= limit; d++ {
		history = append(history, slices.Clone(reach[limit-d:limit+d+2]))
		for k := -d; k <= d; k += 2 {
			x := nextReach(reach, limit, d, k)
			for x < len(a) && x-k < len(b) && a[x] == b[x-k] {
				x++
			}
			reach[k+limit] = x
			if x >= len(a) && x-k >= len(b) {
				return backtrack(a, b, history)
			}
		}
	}
	return replaced(a, b)
}

// nextReach is where diagonal k starts with d edits: one line down from the diagonal
// above or one line on from the one below, whichever reaches further.
func nextReach(reach []int, zero, d, k int) int {
	if k == -d || k != d && reach[zero+k-1] < reach[zero+k+1] {
		return reach[zero+k+1]
	}
	return reach[zero+k-1] + 1
}

// backtrack walks from the ends of both texts to their starts; history[d] is the
// reach before d edits, from diagonal -d to d+1.
func backtrack(a, b []string, history [][]int) []edit {
	var edits []edit
	x, y := len(a), len(b)
	for d := len(history) - 1; d >= 0; d-- {
		reach, k := history[d], x-y
		from := k - 1
		if k == -d || k != d && reach[d+k-1] < reach[d+k+1] {
			from = k + 1
		}
		fromX := reach[d+from]
		for x > max(fromX, 0) && y > max(fromX-from, 0) {
			x, y = x-1, y-1
			edits = append(edits, edit{' ', a[x]})
		}
		switch {
		case d == 0:
		case x == fromX:
			y--
			edits = append(edits, edit{'+', b[y]})
		default:
			x--
			edits = append(edits, edit{'-', a[x]})
		}
	}
	slices.Reverse(edits)
	return edits
}

func replaced(a, b []string) []edit {
	var edits []edit
	for _, line := range a {
		edits = append(edits, edit{'-', line})
	}
	for _, line := range b {
		edits = append(edits, edit{'+', line})
	}
	return edits
}
