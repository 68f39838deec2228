package page

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"locklab/harness"
	"locklab/harness/result"
	"locklab/internal/numfmt"
	"locklab/reports/chart"
)

func outline(run *result.Run) *document {
	doc := &document{
		Title:      "Which lock for which contention?",
		Origin:     origin(run),
		Rule:       ruleText(run.Manifest),
		Exclusions: exclusions(run),
		Broken:     breaches(run),
		Checked:    checked(run),
		Facts:      environment(run),
		Modules:    versions(run, true),
		Command:    command(run),
	}
	doc.conclude(run)
	return doc
}

func compose(run *result.Run) *document {
	run = chart.Sanitize(run)
	doc, gs := outline(run), chart.Groups(run)
	local, hardware, served, simulated, safety := drawLocks(gs, false), studies(run), drawLocks(gs, true), composeSimulated(run), composeSafety(run)
	all := doc.rank(gs)
	if d := chart.NewDistance(run, gs); d != nil {
		served = append(served, distanceSection(d))
	}
	if d := chart.NewContention(run, gs); d != nil && d.HasLaw() {
		served = append(served, contentionSection(d))
	}
	doc.Sections, doc.Safety = slices.Concat(local, hardware, served, simulated), safety
	switch doc.Measured = len(run.Results) > 0 || hardware == nil && len(run.Faults) == 0 && simulated == nil; {
	case doc.Measured:
		for i := range hardware {
			doc.Sections[len(local)+i].Folded = true
		}
		if safety != nil {
			for i := range safety.Figures {
				safety.Figures[i].Folded = true
			}
		}
	case hardware != nil && (safety == nil || safety.Tries == 0):
		doc.Title = "What does this machine's hardware do?"
	case simulated != nil && (safety == nil || safety.Tries == 0):
		doc.simulatedOnly(run)
	default:
		doc.Title = safety.Title
	}
	for _, s := range doc.Sections {
		if !s.Folded {
			all = slices.Concat(all, s.Figures)
		}
	}
	doc.LeftOut, doc.glossary = leftOut(all), newGlossary(run)
	return doc
}

// rank draws a chart next to one table of each kind of lock, and returns these charts.
func (doc *document) rank(gs []*chart.Group) (out []figure) {
	for _, c := range []*chart.Chart{chart.RankingLocal, chart.RankingRemote} {
		g := c.Subject(gs)
		i := slices.IndexFunc(doc.Tables, func(t tableView) bool { return g != nil && t.remote == g.Remote && t.workload == g.Axes })
		if i < 0 {
			continue
		}
		f := newFigure(c.Of(g), c.Name)
		if out = append(out, f); f.Pic.Height > 0 {
			f.Pic, doc.Tables[i].Ranked = *f.Pic.Narrow, &f
		}
	}
	return out
}

// mostFolded limits the folded groups in a page, which may be hundreds.
const mostFolded = 8

// drawLocks draws the sections of gs for one kind of lock: the group with the most cases and
// the other groups, folded.
func drawLocks(gs []*chart.Group, remote bool) (sections []section) {
	first := chart.Anchored(gs, remote)
	var omitted []string
	for i, g := range gs {
		if first == nil || g.Remote != remote || g != first && (len(g.Workers) < 2 || g.Open()) {
			continue // one point is no curve; the verdict table and the open-loop charts have it
		}
		if len(sections) > mostFolded {
			omitted = append(omitted, g.Axes)
			continue
		}
		s := draft(g, strconv.Itoa(i))
		s.Folded = g != first
		sections = append(sections, s)
	}
	if omitted != nil {
		sections[0].Note += "Without their own charts, to keep this page small: " + numfmt.List(omitted, 12) + "."
	}
	return sections
}

func kind(remote bool) string {
	if remote {
		return "Distributed locks"
	}
	return "Local locks"
}

// draft draws the charts of g; anchors end in id.
func draft(g *chart.Group, id string) section {
	s := section{ID: "group-" + id, Title: kind(g.Remote) + ", " + g.Axes, Slug: chart.SlugOf(g.Axes)}
	for _, c := range chart.Suite {
		if c.Judged || c.Remote != g.Remote || g.Open() && !c.Open || c.Open && g != c.Subject(g.Both) {
			continue
		}
		s.Figures = append(s.Figures, newFigure(c.Of(g), c.Name+"-"+id))
	}
	return s
}

func breaches(run *result.Run) (out []breach) {
	traced := make(map[string]bool)
	for _, r := range run.Results {
		for _, v := range r.Violations {
			b := breach{r.Lock.Name, r.Workload.Name(), v.Rule, v.Detail, r.Round + 1, v.Count, ""}
			if len(v.Trace) > 0 && !traced[b.Lock] {
				b.Trace, traced[b.Lock] = strings.Join(v.Trace, "\n"), true
			}
			out = append(out, b)
		}
	}
	slices.SortStableFunc(out, func(a, b breach) int { return strings.Compare(a.Lock, b.Lock) })
	return out
}

// checked counts the checks of locks in run, and describes them.
func checked(run *result.Run) string {
	locks := make(map[string]bool)
	windows, broken, ops := 0, 0, uint64(0)
	for _, r := range run.Results {
		if r.Lock.Status != harness.Control { // it is no lock
			windows, ops, locks[r.Lock.Name] = windows+1, ops+r.Ops, true
		}
		if len(r.Violations) > 0 {
			broken++
		}
	}
	if windows == 0 {
		return ""
	}
	return fmt.Sprintf("%d of %s of %s, with %s acquisitions, had a violation. ", broken, numfmt.Plural(windows, "window"), numfmt.Plural(len(locks), "lock"), numfmt.SI(float64(ops))) +
		"Each window checks that no process ends and that every worker comes back. With two workers or more it checks that no update of the guarded data is lost, no reader sees half an update, and at most the permitted number hold the lock. " +
		"Distributed locks are also checked for failed requests, and fenced ones for tokens that rise from holder to holder. Conformance tests check the other promises of a lock, such as its order."
}
