package page

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"locklab/harness"
	"locklab/harness/judge"
	"locklab/harness/result"
	"locklab/internal/numfmt"
	"locklab/reports/chart"
)

// A fragment is a part of a sentence; a lock's name is emphasized.
type fragment struct {
	Text string
	Lock bool
}

// headline returns the answer, a sentence each on local and distributed locks, without
// figures, so another run with the same decisions has the same. A poor run decides only on the
// strongest class: noise changes its comparisons of classes.
func headline(ds []judge.Decision, poor bool) (out []fragment) {
	for _, remote := range []bool{false, true} {
		mine := slices.DeleteFunc(slices.Clone(ds), func(d judge.Decision) bool {
			return d.Situation.Distributed() != remote || poor && remote && d.Over != ""
		})
		if len(mine) > 0 {
			out = append(out, sentenceOn(mine, remote)...)
		}
	}
	return out
}

func plainHeadline(run *result.Run) string {
	ds := judge.Decisions(run)
	return plainText(headline(ds, judge.QualityOf(run, ds).Grade == judge.Poor))
}

func sentenceOn(ds []judge.Decision, remote bool) (out []fragment) {
	add := func(text string) { out = append(out, fragment{Text: text}) }
	place := "Inside one process"
	if remote {
		place = "Between processes"
	}
	first := slices.DeleteFunc(slices.Clone(ds), func(d judge.Decision) bool { return d.Over != "" && remote })
	used := slices.DeleteFunc(slices.Clone(first), func(d judge.Decision) bool { return d.Use == "" })
	if len(used) == 0 {
		add(place + " there is " + chart.Why(ds[len(ds)-1]) + ". ")
		return out
	}
	add(place + " use ")
	locks := result.GroupBy(used, func(d judge.Decision) string { return d.Use })
	for i, of := range locks {
		if i > 0 {
			add("; ")
		}
		out = append(out, fragment{of[0].Use, true})
		if len(locks) > 1 {
			add(" " + whenAll(of))
		}
		add(remark(of))
	}
	if open := slices.DeleteFunc(first, func(d judge.Decision) bool { return d.Use != "" }); len(open) > 0 {
		add("; no recommendation " + whenAll(open))
	}
	if remote {
		out = append(out, weaker(ds, len(first))...)
	}
	add(". ")
	return out
}

func remark(ds []judge.Decision) string {
	d := ds[len(ds)-1]
	if d.Rule != judge.BySpeed {
		return ""
	}
	text := "among the fastest"
	if d.Class != nil {
		text = d.Class.Sentence
	}
	if ps := prices(d); ps != "" {
		text += "; " + ps
	}
	return " (" + text + ")"
}

func prices(d judge.Decision) string { return strings.Join(chart.PriceTexts(d, false), ", ") }

// weaker names the lock that gives up the least for more speed, under the most contention. It also
// names the situations in question if the lock is not faster in all.
func weaker(ds []judge.Decision, all int) []fragment {
	for _, d := range slices.Backward(ds) {
		if slices.ContainsFunc(ds, func(strong judge.Decision) bool { return strong.Over == "" && strong.Use == d.Over }) {
			text := "; or"
			faster := slices.DeleteFunc(slices.Clone(ds), func(x judge.Decision) bool { return x.Over == "" || x.Use != d.Use })
			if len(faster) < all {
				text += " " + whenAll(faster)
			}
			out := []fragment{{Text: text + ", if " + d.Class.Where + ", the faster "}, {d.Use, true}}
			if ps := prices(d); ps != "" {
				out = append(out, fragment{Text: " (" + ps + ")"})
			}
			return out
		}
	}
	return nil
}

func whenAll(ds []judge.Decision) string {
	return numfmt.List(result.Each(ds, func(d judge.Decision) string { return when(d.Situation) }), len(ds))
}

// degreeWords describe each degree of contention: as a sentence, the same if other
// processes took processor time, and as a condition after the name of a lock.
var degreeWords = map[judge.Degree]struct{ meaning, taken, when string }{
	judge.Uncontended:    {"one worker takes the lock", "", "without contention"},
	judge.FewWorkers:     {"some CPUs are idle", "", "with a few workers"},
	judge.UpToCPUs:       {"every worker has its own CPU", "no more workers than CPUs, of which others or a CPU limit took time in some windows", "with up to one worker per CPU"},
	judge.OnePerCPU:      {"every CPU has a worker, no worker waits for a CPU", "as many workers as CPUs, of which others or a CPU limit took time in some windows", "with one worker per CPU"},
	judge.Oversubscribed: {"workers wait for CPUs as well as for the lock", "", "with more workers than CPUs"},
	judge.Contended:      {"all workers want the lock at once", "", "under contention"},
}

func when(s judge.Situation) string {
	text := degreeWords[s.Degree].when
	switch s.Group().Kind() {
	case judge.Read:
		text = "if most acquisitions only read"
	case judge.Held:
		if text = "for long sections"; s.Degree != judge.Oversubscribed {
			text += " " + degreeWords[s.Degree].when
		}
	}
	if servers := s.Group().Deployment(); servers != "" {
		text += " on " + servers
	}
	return text
}

func meaning(s judge.Situation) string {
	words := degreeWords[s.Degree]
	if s.Group().Taken {
		return cmp.Or(words.taken, words.meaning)
	}
	return words.meaning
}

func plainText(fs []fragment) string {
	return strings.TrimSpace(strings.Join(result.Each(fs, func(f fragment) string { return f.Text }), ""))
}

// noDecision replaces the headline of a run without closed-loop results.
const noDecision = "This run has no closed loop to recommend a lock by."

// An answerRow is a [judge.Decision] in words: a row of the first table of a report.
type answerRow struct {
	Requirement string // "more workers than CPUs"
	Setting     string // "16 workers on 2 CPUs, hold=100ns"
	Meaning     string // the requirement in plain words
	Use         string // "" if there is no recommendation
	Doc         string // what that lock is
	Rate        string // "4.9 M/s, 4.8 to 5.0"
	Why         string
	Tolerates   []sign   // of a distributed lock
	Class       string   // the same in a sentence
	Missed      []string // aims in failure scenarios
}

func answers(ds []judge.Decision) (out []answerRow) {
	for _, d := range ds {
		a := answerRow{Requirement: strings.TrimSuffix(numfmt.Sentence(requirement(d)), "."), Setting: chart.SettingOf(d.Situation), Meaning: meaning(d.Situation), Use: d.Use, Why: chart.Why(d)}
		if d.Use != "" {
			ss := d.Situation.Group().Series
			a.Doc = ss[slices.IndexFunc(ss, func(s *judge.Series) bool { return s.Lock.Name == d.Use })].Lock.Doc
			a.Rate = chart.Estimated(d)
		}
		if d.Class != nil {
			a.Tolerates, a.Class, a.Missed = tolerances(*d.Class), d.Class.Sentence, result.Each(d.Class.Missed, aimText)
		}
		out = append(out, a)
	}
	return out
}

func requirement(d judge.Decision) string {
	text := d.Situation.Name()
	if d.Over != "" && d.Class != nil && d.Class.Where != "" {
		text += ", if " + d.Class.Where
	}
	return text
}

func tolerances(c result.Class) (out []sign) {
	if c.Tries == 0 {
		return nil
	}
	for _, g := range result.Guarantees {
		st := c.Guarantees[g]
		out = append(out, sign{guaranteeMark(st), string(g) + ": " + st.Counts()})
	}
	return out
}

func ruleText(m result.Manifest) string {
	return fmt.Sprintf("All correct locks compete, whoever wrote them. Each is compared with the baseline by the ratio of their rates in the same round, so that noise which slows down a whole round cancels. "+
		"The intervals are of the paired t-test on logarithms, whose variances borrow from each other (Smyth). All of one table hold together with 95 %% confidence (Bonferroni). "+
		"Inside a process the recommendation is the default (sync.Mutex, or sync.RWMutex for mostly readers), unless another lock is significantly faster by more than the tolerance of %s. "+
		"Then it is the fastest one, with its price, or a near one with fewer prices, unless another is shown to be %gx as fast. "+
		"Between processes locks are compared within their class of guarantees, which comes from the failure scenarios and not from claims. The fastest of the strongest class comes first, and a weaker class only if it is significantly faster. Of the locks within the tolerance of the fastest, and not significantly slower, the simplest is named. "+
		"Contended distributed locks are ranked by handovers per second, because an owner that takes its lock back at once serves nobody else.", numfmt.Percent(100*m.ToleranceOrDefault()), judge.WorthPrice)
}

// An excluded lock cannot be recommended, for Reason.
type excluded struct {
	Lock   string         `json:"lock"`
	Status harness.Status `json:"status"`
	Reason string         `json:"reason"`
}

func exclusions(run *result.Run) (out []excluded) {
	for _, x := range judge.Exclusions(run) {
		reason := fmt.Sprintf("its status is %s: %s", x.Lock.Status, x.Lock.Doc)
		switch {
		case x.Violation != nil && x.Violation.Rule == "crash":
			reason = fmt.Sprintf("it crashed in %d of %s: %s", x.Violated, numfmt.Plural(x.Results, "result"), x.Violation.Detail)
		case x.Violation != nil:
			reason = fmt.Sprintf("it violated %s in %d of %s: %s", x.Violation.Rule, x.Violated, numfmt.Plural(x.Results, "result"), x.Violation.Detail)
		case len(x.Lacks) > 0:
			reason = "required: " + strings.Join(result.Each(x.Lacks, x.Class.Lacks), "; ")
		case x.Lock.Traits.Permits > 1:
			reason = fmt.Sprintf("it admits %d holders at once: %s", x.Lock.Traits.Permits, x.Lock.Doc)
		}
		out = append(out, excluded{x.Lock.Name, x.Lock.Status, reason})
	}
	return out
}

var stateMark = map[result.GuaranteeState]string{result.Held: "✓", result.Broken: "✗", result.Untested: "?", result.Unmade: "–", result.Open: "○"}

func guaranteeMark(s result.GuaranteeStatus) string {
	if s.State == result.Held {
		return heldMark(s.Tries())
	}
	return stateMark[s.State]
}

func heldMark(tries int) string {
	if tries < result.EnoughTries {
		return fmt.Sprintf("0/%d", tries)
	}
	return stateMark[result.Held]
}
