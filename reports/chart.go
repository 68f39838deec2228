package reports

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"locklab/harness"
	"locklab/harness/resultfile"
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

	// optional is set for a chart that is left out where it has nothing to draw.
	optional bool

	// draw makes the picture of a group, which holds at least one result.
	draw func(g *group) picture
}

// Suite lists every chart in the order of the report.
var Suite = []*Chart{
	ThroughputLocal, WaitLocal, JainLocal, ParetoLocal, TimeLocal,
	ShapeLocal, ShortTermLocal, OwnersLocal, SharesLocal, LorenzLocal, LadderLocal,
	BestLocal, HoldLocal, ReadLocal, Spread, ThinkLocal, Pinning, WaitPolicy, Garbage,
	HandoversRemote, RoundTripsRemote, RequestsRemote, NotificationsRemote, WaitRemote, JainRemote, ParetoRemote, TimeRemote,
	ShapeRemote, ShortTermRemote, OwnersRemote, SharesRemote, LorenzRemote, LadderRemote,
	BestRemote, HoldRemote, ReadRemote, Clients, ThinkRemote,
}

// Charts returns the names of the charts of [Suite] that run is drawn in: all
// but those that compare what the run did not vary, or lack what they draw.
func Charts(run *resultfile.Run) (names []string) {
	gs := groups(tidy(run))
	for _, c := range Suite {
		g := largest(gs, c.Remote)
		if c.varies == nil && !c.optional || g != nil && c.draw(g).height > 0 {
			names = append(names, c.Name)
		}
	}
	return names
}

// A picture is a chart with its data: what is drawn, and what it says.
type picture struct {
	answer  string                    // in a sentence or two; never empty
	load    string                    // the workload, if it is not that of the group
	height  vg.Length                 // of the body; 0 if there is nothing to draw
	body    func(c draw.Canvas) error // draws on a canvas of width by height
	numbers table                     // the figures behind it
}

// nothing is the picture of no data: a sentence that says so.
func nothing(format string, args ...any) picture {
	return picture{answer: fmt.Sprintf(format, args...)}
}

// A table is figures for readers who do not trust curves.
type table struct {
	head []string
	rows [][]string
}

// width is the width of every chart.
const width = 9 * vg.Inch

var nameRE = regexp.MustCompile(`^[a-z][a-z0-9]*(-[a-z0-9]+)*$`)

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

// find returns the chart called name; the error wraps harness.ErrUsage and
// names those there are, with others that a run has.
func find(name string, others ...string) (*Chart, error) {
	var names []string
	for _, c := range Suite {
		if c.Name == name {
			return c, nil
		}
		names = append(names, c.Name)
	}
	return nil, fmt.Errorf("%w: there is no chart %q; there are %s", harness.ErrUsage, name, strings.Join(append(names, others...), ", "))
}
