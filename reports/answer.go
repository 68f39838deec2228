package reports

import (
	"fmt"
	"slices"
	"strings"

	"locklab/harness"
	"locklab/harness/result"

	"locklab/harness/judge"
	"locklab/internal/numfmt"
)

// noDecision replaces the headline of a run without closed-loop results.
const noDecision = "This run has no result to decide by."

// mostNames limits the names of locks in a sentence.
const mostNames = 4

// An answerRow is a [judge.Decision] in words: a row of the first table of a report.
type answerRow struct {
	Requirement string // "more workers than CPUs"
	Setting     string // "16 workers on 2 CPUs, hold=100ns"
	Meaning     string // the requirement in plain words
	Use         string // "" if there is no recommendation
	Doc         string // what that lock is
	Rate        string // "4.9 M/s, 4.8 to 5.0"
	Why         string
	Tolerates   []tolerance // of a distributed lock
	Class       string      // the same in a sentence
}

// A tolerance is a mark for one guarantee of a lock.
type tolerance struct{ Mark, Kind, Text, Long string }

var answerHead = titles("requirement", "lock", "rate", "why", "what it tolerates")

func answers(ds []judge.Decision) (out []answerRow) {
	for _, d := range ds {
		a := answerRow{Requirement: strings.TrimSuffix(numfmt.Sentence(requirement(d)), "."), Setting: settingOf(d.Situation), Meaning: meaning(d.Situation), Use: d.Use, Why: why(d)}
		if d.Use != "" {
			a.Doc = docOf(d)
			a.Rate = estimated(d)
		}
		if d.Class != nil {
			a.Tolerates, a.Class = tolerances(*d.Class), classText(*d.Class)
		}
		out = append(out, a)
	}
	return out
}

// requirement names the situation of d, and the condition if its class is weaker.
func requirement(d judge.Decision) string {
	text := d.Situation.Name()
	if d.Over != "" && d.Class != nil && d.Class.Where != "" {
		text += ", if " + d.Class.Where
	}
	return text
}

// settingOf describes s with its figures.
func settingOf(s judge.Situation) string {
	return (&ranking{Situation: s, g: &group{Group: s.Group()}}).setting() + ", " + s.Workload()
}

func docOf(d judge.Decision) string {
	for _, s := range d.Situation.Group().Series {
		if s.Lock.Name == d.Use {
			return s.Lock.Doc
		}
	}
	return ""
}

func perSecond(s judge.Situation, v float64) string {
	if s.Metric().Name == "handovers" {
		return numfmt.SI(v) + " handovers/s"
	}
	return numfmt.PerSecond(v)
}

func estimated(d judge.Decision) string {
	text := perSecond(d.Situation, d.Rate.Median)
	if d.Rate.Hi > 0 {
		text += ", " + numfmt.SI(d.Rate.Lo) + " to " + numfmt.SI(d.Rate.Hi)
	}
	return text
}

// why returns the reason for d as one sentence without a full stop.
func why(d judge.Decision) string {
	const none = "no recommendation: "
	switch d.Rule {
	case judge.ByDefault:
		return "the default; " + unbeaten(d) + rounds(d)
	case judge.BySpeed:
		return faster(d) + ties(d) + rounds(d)
	case judge.FewRounds:
		return fmt.Sprintf("%s%d of %d rounds", none, d.Rounds, d.Needed)
	case judge.OneLock:
		return none + "only " + d.Fastest + " was measured"
	case judge.NoDefault:
		return fmt.Sprintf("%s%s was not measured; of %d locks %s is the fastest", none, d.Situation.DefaultLock(), d.Locks, d.Fastest)
	case judge.Unmet:
		return none + "no lock measured here has the required guarantees"
	}
	return none + "no correct lock made progress"
}

// unbeaten returns the reason to recommend the default.
func unbeaten(d judge.Decision) string {
	if d.Gain != nil && (d.Gain.Reading == judge.Faster || d.Gain.Reading == judge.Equivalent) {
		return fmt.Sprintf("%s is %s as fast, which is within the tolerance", d.Fastest, gainText(d.Gain))
	}
	if d.Locks == 2 {
		return "the other lock is not significantly faster"
	}
	return fmt.Sprintf("none of %d other locks is significantly faster", d.Locks-1)
}

// faster returns the reason to recommend a lock other than the default.
func faster(d judge.Decision) string {
	switch {
	case d.Gain == nil:
		if d.Class == nil || d.Class.Strength == result.Unknown {
			return "the fastest of " + numfmt.Plural(d.Locks, "lock")
		}
		return "the fastest of the locks that tolerate the most"
	case d.Class != nil:
		return fmt.Sprintf("%s as fast as %s", gainText(d.Gain), d.Over)
	}
	text := fmt.Sprintf("%s as fast as %s, the default", gainText(d.Gain), d.Over)
	if ps := priceTexts(d, true); len(ps) > 0 {
		text += ", but " + strings.Join(ps, ", ")
	}
	return text
}

func ties(d judge.Decision) string {
	if len(d.Ties) == 0 {
		return ""
	}
	return "; not significantly slower: " + numfmt.List(d.Ties, mostNames)
}

func rounds(d judge.Decision) string { return " (" + numfmt.Plural(d.Rounds, "round") + ")" }

func gainText(r *judge.Ratio) string {
	f := decimals(r.Median, r.Hi-r.Lo)
	return fmt.Sprintf(f+"x ("+f+"–"+f+")", r.Median, r.Lo, r.Hi)
}

// priceTexts returns the prices of d, with or without their figures.
func priceTexts(d judge.Decision, figures bool) (out []string) {
	formats := map[judge.PriceKind]struct {
		text   string
		format func(float64) string
	}{
		judge.Unfair:  {"unfair (Jain %s, not %s)", numfmt.Percent},
		judge.Waits:   {"a longest wait of %s, not %s", numfmt.Nanos},
		judge.Costs:   {"%s of CPU an acquisition, not %s", numfmt.Nanos},
		judge.Polling: {"its waiters poll", nil},
		judge.Handles: {"each worker needs a handle", nil},
	}
	for _, p := range d.Prices {
		f := formats[p.Kind]
		switch {
		case f.format == nil:
			out = append(out, f.text)
		case figures:
			out = append(out, fmt.Sprintf(f.text, f.format(p.Own.Value), f.format(p.Default.Value)))
		case p.Kind == judge.Unfair:
			out = append(out, "unfair")
		}
	}
	return out
}

// tolerances returns the state of each guarantee of a lock of class c.
func tolerances(c result.Class) (out []tolerance) {
	if c.Tries == 0 {
		return nil
	}
	for _, g := range harness.Guarantees {
		st := c.Guarantees[g]
		text := string(g)
		switch {
		case st.Published > 0:
			text += fmt.Sprintf(" (%d tries published, %d here)", st.Published, st.Tries-st.Published)
		case st.Tries > 0:
			text += fmt.Sprintf(" (%d %s)", st.Tries, numfmt.Choose(st.Tries, "try", "tries"))
		}
		out = append(out, tolerance{guaranteeMark(st), stateKind[st.State], text, string(g) + " " + st.String()})
	}
	return out
}

// notTested is the class of a lock without failure tests.
const notTested = "not tested for failures"

func classText(c result.Class) string {
	if c.Strength == result.Unknown {
		return notTested
	}
	return c.Sentence
}

func ruleText(m result.Manifest) string {
	return fmt.Sprintf("All correct locks compete: ours, those of the standard library and those of other people. Each is compared with the baseline by the ratio of their rates in the same round, so that noise which slows down a whole round cancels. "+
		"The intervals are order-statistic intervals; all of one column hold together with 95 %% confidence (Bonferroni, over the comparisons with the baseline and with the fastest lock). "+
		"Inside a process the recommendation is the default (sync.Mutex, or sync.RWMutex for mostly readers), unless another lock is significantly faster by more than the tolerance of %s; then it is the fastest one, with its price. "+
		"Between processes locks are compared within their class of guarantees, which comes from the failure scenarios and not from claims; the fastest of the strongest class comes first, and a weaker class only if it is significantly faster. Of locks within the tolerance of the fastest, of which none is significantly slower, the simplest is named. "+
		"Contended distributed locks are ranked by handovers per second, because an owner that takes its lock back at once serves nobody else.", numfmt.Percent(100*m.PracticalMargin()))
}

// An excluded lock cannot be recommended, for Reason.
type excluded struct {
	Lock   string `json:"lock"`
	Reason string `json:"reason"`
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
			var lacks []string
			for _, g := range x.Lacks {
				lacks = append(lacks, x.Class.Lacks(g))
			}
			reason = "required: " + strings.Join(lacks, "; ")
		case x.Lock.Traits.Permits > 1:
			reason = fmt.Sprintf("it admits %d holders at once: %s", x.Lock.Traits.Permits, x.Lock.Doc)
		}
		out = append(out, excluded{x.Lock.Name, reason})
	}
	return out
}

var (
	stateMark = map[result.GuaranteeState]string{result.Held: "✓", result.Broken: "✗", result.Untested: "?", result.Unmade: "–", result.Open: "○"}
	stateKind = map[result.GuaranteeState]string{result.Held: "held", result.Broken: "harm"}
)

func guaranteeMark(s result.GuaranteeStatus) string {
	if s.State == result.Held {
		return heldMark(s.Least)
	}
	return stateMark[s.State]
}

// heldMark returns the mark for a number of tries without a violation.
func heldMark(tries int) string {
	if tries < result.EnoughTries {
		return fmt.Sprintf("0/%d", tries)
	}
	return stateMark[result.Held]
}

// uses groups ds by recommended lock, in order.
func uses(ds []judge.Decision) (names []string, of map[string][]judge.Decision) {
	of = make(map[string][]judge.Decision)
	for _, d := range ds {
		if d.Use == "" {
			continue
		}
		if !slices.Contains(names, d.Use) {
			names = append(names, d.Use)
		}
		of[d.Use] = append(of[d.Use], d)
	}
	return names, of
}
