package reports

import (
	"fmt"
	"slices"
	"strings"

	"locklab/harness"
	"locklab/harness/metric"
	"locklab/harness/resultfile"
	"locklab/harness/stat"
	"locklab/harness/survival"
	"locklab/harness/verdict"
	"locklab/internal/numfmt"
)

// A summary is the sheet that a report begins with: a row for each situation that it
// gives a verdict on.
type summary struct {
	Columns []piece
	Rows    []summaryRow
}

// summaryHead are the columns of the sheet.
var summaryHead = titles("requirement", "lock", "cost", "what it survives", "how sure", "what would change it")

// A summaryRow is a verdict in cells that are short enough for one sheet of paper; what
// is longer stands behind it.
type summaryRow struct {
	verdict.Verdict
	Title    string
	Cost     []quantified // beside what v.Rate says
	Survives []endured
	Tested   string   // how much Survives rests on
	Short    string   // the first part of v.Why
	Agreed   string   // how many resampled runs name the same lock
	Changes  []string // the weightiest first
}

// A quantified is a figure with what it is.
type quantified struct {
	piece
	Value string
}

// An endured is a mark for one thing that a lock was tested for.
type endured struct{ Mark, Kind, Text, Long string }

// shownChanges is how many of the things that would change an answer stand in its row.
const shownChanges = 2

// Shown returns the weightiest of the changes.
func (r summaryRow) Shown() []string { return firsts(r.Changes, shownChanges) }

// firsts returns the first n of texts.
func firsts(texts []string, n int) []string { return texts[:min(n, len(texts))] }

// Further returns the other changes.
func (r summaryRow) Further() []string { return r.Changes[min(shownChanges, len(r.Changes)):] }

// newSummary returns the sheet of the verdicts vs of run.
func newSummary(run *resultfile.Run, vs []verdict.Verdict, rounds int) summary {
	s := summary{Columns: summaryHead}
	audited := audit(run)
	for _, v := range vs {
		row := summaryRow{Verdict: v, Title: strings.TrimSuffix(numfmt.Sentence(v.Situation), "."), Changes: changes(run, v), Short: clause(v.Why), Agreed: v.Agreed()}
		if v.Use != "" {
			row.Cost = costs(v)
			row.Survives, row.Tested = survives(run, v, audited)
		}
		if rounds > 0 && v.Use != "" {
			row.Short = numfmt.Plural(rounds, "round") + "; " + row.Short
		}
		s.Rows = append(s.Rows, row)
	}
	return s
}

// costs returns what goes with taking the lock of v.
func costs(v verdict.Verdict) (out []quantified) {
	add := func(text string, m *metric.Metric, value string) {
		if value != unknown && value != "" {
			out = append(out, quantified{piece{text, m}, value})
		}
	}
	if v.Remote() {
		add("requests", metric.Requests, strings.TrimSuffix(strings.TrimSuffix(v.Cost, " requests"), nb+"requests"))
	} else {
		add("CPU", metric.CPU, strings.TrimSuffix(v.Cost, " CPU"))
	}
	name := "rate"
	if v.Metric() == metric.Handovers {
		name = "hand-overs"
	}
	add(name, v.Metric(), strings.Replace(v.Rate, " hand-overs/s", "/s", 1))
	add("wait p99", metric.P99, v.P99)
	if v.P99 == unknown {
		add("wait p99", metric.P99, "not told: "+v.P99Why)
	}
	if v.Workers() > 1 {
		add("Jain", metric.Jain, v.Jain)
	}
	return out
}

// survives returns what the lock of v was tested for, and by how much.
func survives(run *resultfile.Run, v verdict.Verdict, audited []checked) ([]endured, string) {
	if !v.Remote() {
		i := slices.IndexFunc(audited, func(c checked) bool { return c.Lock == v.Use })
		if i < 0 {
			return nil, ""
		}
		c := audited[i]
		return []endured{{"✓", "held", "exclusion", "no update of what it guards was lost"}}, fmt.Sprintf("kept in %s, %s acquisitions", numfmt.Plural(c.Contended, "contended window"), numfmt.SI(float64(c.Ops)))
	}
	return endures(survival.ClassOf(run.Faults, v.Use))
}

// endures returns how the guarantees of a lock of class c stand, and by how many faults.
func endures(c survival.Class) ([]endured, string) {
	if c.Tries == 0 {
		return []endured{{"?", "", verdict.NotTested, ""}}, ""
	}
	var out []endured
	fewest := 0 // faults by which a guarantee held
	for _, g := range harness.Guarantees {
		st := c.Guarantees[g]
		out = append(out, endured{stateMark[st.State], stateKind[st.State], string(g), string(g) + " " + st.String()})
		if st.State == survival.Held && (fewest == 0 || st.Tries < fewest) {
			fewest = st.Tries
		}
	}
	tested := "in " + numfmt.Plural(c.Tries, "fault")
	if fewest > 0 {
		tested += "; what held breaks in at most " + numfmt.Percent(100*stat.UpperBound(0, fewest)) + " of its faults"
	}
	return out, tested
}

var (
	stateMark = map[survival.State]string{survival.Held: "✓", survival.Broken: "✗", survival.Untested: "?", survival.Unmade: "–", survival.Open: "○"}
	stateKind = map[survival.State]string{survival.Held: "held", survival.Broken: "harm"}
)

// mostClause is how long the reason in a row may be.
const mostClause = 110

// clause returns the first part of why that says something by itself.
func clause(why string) string {
	why = strings.TrimPrefix(why, "no verdict: ")
	if i := strings.Index(why, " ("); i > 0 {
		why = why[:i]
	}
	first, _, _ := strings.Cut(why, "; ")
	return short(first, mostClause)
}

// Reading returns what the columns of the sheet are.
func (summary) Reading() (out []term) {
	for _, h := range summaryHead {
		if _, t := explained(h.Text); t != nil {
			out = append(out, *t)
		}
	}
	return out
}
