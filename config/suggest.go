package config

import (
	"fmt"
	"strings"

	"github.com/agext/levenshtein"
)

// suggestionLimit bounds how many names are tried: beyond it a file is written by a
// program, which needs no suggestion.
const suggestionLimit = 1000

// didYouMean is `; did you mean "x"?` for the name most like given, or empty.
func didYouMean(given string, names []string) string {
	if name := nearest(given, names); name != "" {
		return fmt.Sprintf("; did you mean %q?", name)
	}
	return ""
}

// meant is the suggestion for an unknown argument or block, or else what is known.
func meant(given string, names []string) string {
	if text := didYouMean(given, names); text != "" || len(names) == 0 {
		return text
	}
	return "; known here: " + strings.Join(names, ", ")
}

func nearest(given string, names []string) string {
	if len(names) > suggestionLimit || len(given) > 64 {
		return ""
	}
	given = strings.ToLower(given)
	best, bestDistance := "", min(3, len(given)/2)+1
	for _, name := range names {
		d := levenshtein.Distance(given, name, nil)
		if len(given) >= 3 && strings.HasPrefix(name, given) {
			d = min(d, 1)
		}
		if d < bestDistance {
			best, bestDistance = name, d
		}
	}
	return best
}

// listLimit bounds how many names a message lists.
const listLimit = 12

// defined is "; defined: a, b" for a message about an undefined name.
func defined(names []string) string {
	if len(names) == 0 {
		return "; none is defined"
	}
	if len(names) > listLimit {
		return fmt.Sprintf("; defined: %s and %d more", strings.Join(names[:listLimit], ", "), len(names)-listLimit)
	}
	return "; defined: " + strings.Join(names, ", ")
}
