package page

import (
	"io"
	"os"

	terminal "golang.org/x/term"

	"locklab/harness/judge"
)

// A colour of a cell on a terminal. It repeats a mark of the cell's text.
type colour int

const (
	plain colour = iota
	green        // significantly faster
	red          // significantly slower, or broken
)

func colourOf(r *judge.Ratio) colour {
	switch {
	case r != nil && r.Reading == judge.Faster:
		return green
	case r != nil && r.Reading == judge.Slower:
		return red
	}
	return plain
}

func (c colour) paint(s string) string {
	switch c {
	case green:
		return "\x1b[32m" + s + "\x1b[0m"
	case red:
		return "\x1b[31m" + s + "\x1b[0m"
	}
	return s
}

// showsColours reports whether w is a terminal that shows colours, and the user wants them
// (https://no-color.org).
func showsColours(w io.Writer) bool {
	f, ok := w.(interface{ Fd() uintptr })
	return ok && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb" && terminal.IsTerminal(int(f.Fd()))
}
