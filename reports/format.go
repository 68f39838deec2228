package reports

import (
	"slices"
	"strings"

	"locklab/internal/numfmt"
)

// unknown stands for a figure that is not known.
const unknown = numfmt.Unknown

// nb joins a figure and its unit: no line is broken there.
const nb = numfmt.Space

// words splits s at the spaces where a line may be broken.
func words(s string) []string {
	return slices.DeleteFunc(strings.Split(s, " "), func(w string) bool { return w == "" })
}
