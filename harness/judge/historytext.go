package judge

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"locklab/internal/numfmt"
)

// WriteText writes h as tables with a conclusion. It writes the verdict of each case, and
// every run of cases that changed, are off or broke a promise; of every case if all is
// set. Sentences are no wider than width columns, tables at most about 100.
func (h *History) WriteText(out io.Writer, width int, all bool) error {
	t := &textWriter{width: max(width, minWidth)}
	for i, site := range h.Sites {
		t.item("", fmt.Sprintf("%s: %s", plain(site.Name), plain(site.Runs[0].Manifest.Machine.String())))
		t.table(site.lines())
		if i < len(h.Sites)-1 {
			t.buf.WriteByte('\n')
		}
	}
	h.table(t)
	t.buf.WriteByte('\n')
	t.item("", h.Headline())
	for _, s := range h.Series {
		for _, line := range s.Findings(h) {
			t.item("  - ", line)
		}
	}
	for i := range h.Series {
		if s := &h.Series[i]; all || s.Notable() {
			t.buf.WriteByte('\n')
			t.item("", s.title(h))
			t.table(s.lines(h))
		}
	}
	t.buf.WriteByte('\n')
	for _, s := range h.Remarks() {
		t.item("", s)
	}
	for _, w := range h.Warnings {
		t.item("Warning: ", w)
	}
	if _, err := io.WriteString(out, t.buf.String()); err != nil {
		return fmt.Errorf("judge: %w", err)
	}
	return nil
}

func (s *Site) lines() [][]string {
	out := [][]string{{"  run", "date, UTC", "commit"}}
	for i, v := range s.Runs {
		out = append(out, []string{fmt.Sprintf("  %d", i+1), v.Date(), v.Commit()})
	}
	return out
}

// Date returns the start of v.
func (v *Visit) Date() string { return v.Manifest.Started.UTC().Format("2006-01-02 15:04") }

// Commit returns the short commit of v's build.
func (v *Visit) Commit() string {
	c, changed := strings.CutSuffix(v.Manifest.Commit, "+dirty")
	if c == "" {
		return "unknown"
	}
	if r := []rune(c); len(r) > 9 {
		c = string(r[:9])
	}
	if changed {
		c += "+"
	}
	return plain(c)
}

func (h *History) table(t *textWriter) {
	var cells [][]string
	last := ""
	for i := range h.Series {
		s := &h.Series[i]
		row := GateRow{Lock: s.Lock, Workload: s.Workload}
		if group := s.Gate.Name() + " " + row.group(); group != last {
			last = group
			cells = append(cells, nil, []string{s.Gate.Title() + ", " + plain(row.axes()), "workers", "machine", "runs", "level", "least", "most", "newest", ""})
		}
		levels := s.Levels()
		l := levels[len(levels)-1]
		newest := s.Points[len(s.Points)-1]
		line := []string{"  " + plain(s.Lock.Name), fmt.Sprint(s.Workload.Workers), plain(h.Sites[s.Site].Name), fmt.Sprint(s.Figures()),
			s.figure(l.Median, l.Runs), s.figure(l.Least, l.Runs), s.figure(l.Most, l.Runs), s.Figure(newest), string(s.Verdict)}
		cells = append(cells, line)
	}
	t.table(cells)
}

func (s *HistorySeries) figure(v float64, n int) string {
	if n == 0 || v != v {
		return unknown
	}
	return numfmt.Plain(s.Gate.Format(v))
}

// Figure formats the figure of a run.
func (s *HistorySeries) Figure(p HistoryPoint) string {
	if p.Broke {
		return "violated"
	}
	return bounded(p.AtMost && p.N > 0) + s.figure(p.Median, p.N)
}

// Notable reports whether the runs of s are worth showing.
func (s *HistorySeries) Notable() bool {
	return len(s.Changes) > 0 || slices.ContainsFunc(s.Points, func(p HistoryPoint) bool { return p.Off != "" || p.Broke }) ||
		s.Verdict == FewRuns && slices.ContainsFunc(s.Points, func(p HistoryPoint) bool { return p.Verdict.Changed() })
}

func (s *HistorySeries) title(h *History) string {
	text := plain(s.Case()) + ", " + s.Gate.Title()
	if len(h.Sites) > 1 {
		text += " on " + plain(h.Sites[s.Site].Name)
	}
	return text
}

func (s *HistorySeries) lines(h *History) [][]string {
	out := [][]string{{"  run", "commit", "median", "interval", "to the run before", "interval", "p", ""}}
	for i, p := range s.Points {
		line := []string{fmt.Sprintf("  %d", i+1), h.Sites[s.Site].Runs[i].Commit(), s.Figure(p), unknown, unknown, unknown, unknown, s.Mark(i)}
		if p.N > 0 {
			line[3] = s.figure(p.Lo, p.N) + "–" + s.figure(p.Hi, p.N)
		}
		if p.Before.N > 0 {
			line[4], line[5], line[6] = ratio(p.Before.Median), ratio(p.Before.Lo)+"–"+ratio(p.Before.Hi), chance(p.P)
		}
		out = append(out, line)
	}
	return out
}

// Mark describes the special events at point i, or returns "".
func (s *HistorySeries) Mark(i int) string {
	var parts []string
	for _, c := range s.Changes {
		if c.At == i {
			parts = append(parts, strings.ToUpper(string(c.Verdict))+" here")
		}
	}
	p := s.Points[i]
	switch {
	case p.Off != "":
		parts = append(parts, string(p.Off))
	case p.Broke:
		parts = append(parts, "violated")
	case p.N == 0:
		parts = append(parts, "no figure: "+p.Gap)
	case p.Verdict == Regressed:
		parts = append(parts, "worse than before")
	case p.Verdict == Better:
		parts = append(parts, "better than before")
	}
	return strings.Join(parts, "; ")
}

// Findings describes the findings of s, one sentence each.
func (s *HistorySeries) Findings(h *History) (out []string) {
	site := h.Sites[s.Site]
	for _, c := range s.Changes {
		v := site.Runs[c.At]
		text := fmt.Sprintf("%s: %s from run %d on (%s, %s): %s, before %s; × %s, 95 %%: %s–%s, p %s", s.title(h), c.Verdict, c.At+1, v.Commit(), v.Date(),
			s.figure(c.New, 1), s.figure(c.Old, 1), ratio(c.Ratio.Median), ratio(c.Ratio.Lo), ratio(c.Ratio.Hi), chance(c.P))
		if v.SameCode {
			text += "; by the build of the run before, so the code is not the reason"
		}
		if len(v.Differs) > 0 {
			text += "; there also differ " + numfmt.List(v.Differs, len(v.Differs))
		}
		out = append(out, text)
	}
	for i, p := range s.Points {
		switch {
		case p.Off != "":
			least, most := s.othersOf(i)
			out = append(out, fmt.Sprintf("%s: run %d (%s) is %s: %s, the others of its level %s to %s", s.title(h), i+1, site.Runs[i].Commit(), p.Off,
				s.Figure(p), s.figure(least, 1), s.figure(most, 1)))
		case p.Broke, p.Missing:
			out = append(out, fmt.Sprintf("%s: %s", s.title(h), p.Gap))
		}
	}
	return out
}

// SeriesVerdicts are the verdicts on a series, the worst first.
var SeriesVerdicts = []GateVerdict{Regressed, OffRun, Unmeasured, FewRuns, Better, Steady, AsGood, OneRun, Expected}

// Headline summarizes h.
func (h *History) Headline() string {
	n := make(map[GateVerdict]int)
	var bad []string
	for i := range h.Series {
		s := &h.Series[i]
		n[s.Verdict]++
		if s.Verdict == Regressed {
			bad = append(bad, s.title(h))
		}
	}
	var parts []string
	for _, v := range SeriesVerdicts {
		if n[v] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n[v], v))
		}
	}
	counts := strings.Join(parts, ", ") + "."
	switch h.Outcome() {
	case Worse:
		return fmt.Sprintf("REGRESSED: the last change of %s is for the worse. In all: %s", numfmt.List(bad, 6), counts)
	case Unsure:
		return "No verdict: no case is certain to have become worse, and of some that cannot be said. In all: " + counts
	}
	return "No case's last change is for the worse. In all: " + counts
}

// Remarks explains the method of the figures, and the remedies for inconclusive ones.
func (h *History) Remarks() (out []string) {
	if len(h.To) > 0 {
		out = append(out, fmt.Sprintf("Figures are ratios to that of %s in the same round under the same workload, so that what slows the machine down on a day cancels. A change may be of either lock.", numfmt.Choose(len(h.To), h.To[0], "the first of "+numfmt.List(h.To, len(h.To))+" that it has")))
	}
	out = append(out, fmt.Sprintf("A change is a step that stays: the runs after it against the runs before, by ranks, if under %g of all orders of the runs of a machine part any case as clearly "+
		"and the ratio of the two levels exceeds %s. It takes %s of a machine, and says that the figures moved, not why. "+
		"Runs of different days differ by more than the code; that two neighbours do (Mann-Whitney test over the rounds, Holm's correction for %s; intervals %s each) is no change yet.",
		h.Alpha, share(h.Margin), numfmt.Plural(h.Few, "run"), numfmt.Plural(h.Tests, "comparison"), share(h.Level)))
	has := func(v GateVerdict) bool {
		return slices.ContainsFunc(h.Series, func(s HistorySeries) bool { return s.Verdict == v })
	}
	if has(FewRuns) {
		out = append(out, fmt.Sprintf("Too few runs: neighbours differ, or their rounds leave room for more than %s, and with under %s a step cannot be told from an off day. "+
			"'locklab compare --interleave OLD NEW' tells two builds apart in one evening.", share(h.Margin), numfmt.Plural(h.Few, "run")))
	}
	if has(OffRun) {
		out = append(out, "Newest run is off: it may be a bad day or the first run of a step. Measure once more.")
	}
	if has(Unmeasured) {
		out = append(out, "Not measured: the newest run lacks what it was to measure. Go on with locklab run --resume, or measure it again.")
	}
	return out
}
