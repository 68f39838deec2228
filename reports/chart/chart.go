package chart

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
	Remote bool   // draws the distributed locks; otherwise the local ones

	// varies is the dimension that a chart compares groups by, if the run has several values.
	Varies *dimension

	// once restricts a chart to the group with the most cases.
	Once bool

	// judged: the chart draws the main workload, and its answer names no unsound lock.
	Judged bool

	// optional omits a chart that has nothing to draw.
	Optional bool

	// carries: a main chart of a report, whose page shows and prints it. Others are folded.
	Carries bool

	// open: the chart draws open loops, for any group; others draw closed ones.
	Open bool

	// draw draws a group, which holds at least one result.
	Draw func(g *Group) Picture
}

// Validate returns one error that joins every mistake in cs, or nil.
func Validate(cs []*Chart) error {
	var errs []error
	seen := make(map[string]bool)
	for _, c := range cs {
		bad := func(text string) { errs = append(errs, fmt.Errorf("chart %q %s", c.Name, text)) }
		switch {
		case !NameRE.MatchString(c.Name):
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
		if c.Draw == nil {
			bad("has no function")
		}
	}
	return errors.Join(errs...)
}
