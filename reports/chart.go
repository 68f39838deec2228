package reports

import (
	"errors"
	"fmt"
	"strings"
)

// A Chart draws one question about the locks of a run.
type Chart struct {
	Name   string // identifies the chart: lower case, words joined by '-'
	Title  string // the question
	Doc    string // how to read it: what a line, a band and a colour are
	Remote bool   // draws the locks kept by servers; otherwise the local ones

	// varies is set for a chart that compares the groups of a run with each other:
	// they differ in it. Such a chart is drawn once, if there is more than one
	// value of it.
	varies *dimension

	// once is set for a chart that is drawn of the group with the most cases
	// only, not of each.
	once bool

	// judged is set for a chart that draws what the verdict says of the main workload:
	// that workload is drawn, and the verdict is the answer, which names no unsound
	// lock.
	judged bool

	// optional is set for a chart that is left out where it has nothing to draw.
	optional bool

	// carries is set for a chart that carries the argument of a report: its page shows
	// it, and prints it. Others stand behind their questions.
	carries bool

	// open is set for a chart that draws the open loops of a run, whichever group it is
	// given. All others draw closed loops.
	open bool

	// draw makes the picture of a group, which holds at least one result.
	draw func(g *group) picture
}

// Validate returns one error that joins every mistake in cs, or nil.
func Validate(cs []*Chart) error {
	var errs []error
	seen := make(map[string]bool)
	for _, c := range cs {
		bad := func(text string) { errs = append(errs, fmt.Errorf("chart %q %s", c.Name, text)) }
		switch {
		case !nameRE.MatchString(c.Name):
			bad("is not lower-case words joined by '-'")
		case seen[c.Name]:
			bad("is listed twice")
		}
		seen[c.Name] = true
		if !strings.HasSuffix(c.Title, "?") {
			bad("does not ask a question in Title")
		}
		if c.Doc == "" {
			bad("is undocumented")
		}
		if c.draw == nil {
			bad("has no function")
		}
	}
	return errors.Join(errs...)
}
