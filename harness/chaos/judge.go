package chaos

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"locklab/harness"
	"locklab/harness/oracle"
	"locklab/harness/result"
)

// judge returns one lock's outcome. The try does not count if the machine explains every
// unexpected anomaly.
func (b *batch) judge(t *Try, s *Subject, over int64) *result.FaultResult {
	r := b.scenario.result(s.Variant)
	r.Seed = t.Seed
	if s.failed != nil {
		r.Failed = 1
		r.Notes = []string{reason(s.failed)}
		return r
	}
	rules := b.rules(s.Variant, over)
	rules.Starvation, rules.Delays = !slices.Contains(r.Expected.Anomalies, oracle.TwoHolders), t.excuses(r.Expected)
	history := s.history.until(over)
	j := oracle.Judge(history, rules)
	if x := s.excuse(&j, rules.Delays); x != nil && !s.hurt(&j, r.Expected) {
		r.Starved, r.Notes = 1, []string{"a try did not count: " + x.why}
		if x.Delayed > 0 {
			r.Figures = []result.FaultFigure{{Name: delayedFigure, Unit: "ms", Values: []float64{float64(x.Delayed) / 1e6}}}
		}
		return r
	}
	r.Tries, r.Seen = 1, make(map[oracle.Anomaly]int)
	for _, anomaly := range slices.Concat(j.Anomalies(), slices.Collect(maps.Keys(s.anomalies))) {
		r.Seen[anomaly] = 1
	}
	r.Notes, r.Figures = append(s.notes, j.Notes...), s.figures
	if s.history.cut {
		r.Notes = append(r.Notes, fmt.Sprintf("the history has more than %d events: the rest was not judged", s.history.most))
	}
	if r.Seen[oracle.TwoHolders]+r.Seen[oracle.TokenFell] == 0 { // else no lock could have made it
		b.prove(r, &j, rules)
	}
	if b.worth(r) {
		b.save(r, history, t.Number)
	}
	r.Window, r.Margin, r.Overlap = times(j)
	if len(r.Seen) > 0 {
		all := slices.DeleteFunc(slices.Clone(oracle.Anomalies), func(h oracle.Anomaly) bool { return r.Seen[h] == 0 })
		r.Together = []result.Together{{Anomalies: all, Tries: 1}}
	}
	return r
}

// reason returns why the fault could not be made, without the hint to set up a server.
func reason(err error) string {
	text := "the fault could not be made: " + err.Error()
	if errors.Is(err, harness.ErrUnavailable) {
		text = strings.TrimPrefix(err.Error(), harness.ErrUnavailable.Error()+": ")
		text, _, _ = strings.Cut(text, ", or set LOCKLAB_")
	}
	return text
}

// prove also checks the history with porcupine, which accounts for refusals and attempts
// of unknown outcome. A check that does not finish in time counts as not proven.
func (b *batch) prove(r *result.FaultResult, j *oracle.Judgement, rules oracle.Rules) {
	check := oracle.CheckLinear(j, rules, time.Second/2, 2*time.Second)
	proven := result.FaultFigure{Name: "history proven", Values: []float64{0}}
	switch check.Verdict {
	case oracle.Violated:
		r.Seen[oracle.Misled] = 1
		r.Notes = append(r.Notes, fmt.Sprintf("misled: no lock could have done what its clients were told in the %v from %v on",
			time.Duration(check.Violated.To-check.Violated.From), time.Duration(check.Violated.From-j.Start)))
	case oracle.Proven:
		proven.Values[0] = 1
	}
	r.Figures = append(r.Figures, proven)
}

func times(j oracle.Judgement) (window, margin, overlap []int64) {
	granted, longest := false, time.Duration(0)
	for _, w := range j.Windows {
		granted, longest = granted || w.Granted, max(longest, w.Length)
	}
	if granted {
		window = []int64{int64(longest)}
	}
	if len(j.Margins) > 0 {
		margin = []int64{int64(slices.Min(j.Margins))}
	}
	if j.Longest > 0 {
		overlap = []int64{int64(j.Longest)}
	}
	return window, margin, overlap
}

// worth reports whether a try's history is kept: it shows something unexpected, or the
// first occurrence of an expected anomaly other than a stall.
func (b *batch) worth(r *result.FaultResult) bool {
	for h := range r.Seen {
		expected := r.Expected.Why == "" || slices.Contains(r.Expected.Anomalies, h)
		if !expected || h != oracle.Stall && b.saved[r.Lock.Name] == 0 {
			return true
		}
	}
	return false
}

const mostHistories = 3

func (b *batch) save(r *result.FaultResult, h oracle.History, n int) {
	if b.plan.Dir == "" || b.saved[r.Lock.Name] >= mostHistories {
		return
	}
	name := fmt.Sprintf("history-%s-%s-%d.jsonl", r.Scenario, r.Lock.Name, n)
	f, err := os.Create(filepath.Join(b.plan.Dir, name))
	if err == nil {
		err = errors.Join(h.Write(f), f.Close())
	}
	if err != nil {
		r.Notes = append(r.Notes, fmt.Sprintf("the history could not be kept: %v", err))
		return
	}
	b.saved[r.Lock.Name]++
	r.Histories = []string{name}
}

func (b *batch) rules(v *harness.Variant, end int64) oracle.Rules {
	r := oracle.RulesOf(v.Traits, cmp.Or(b.scenario.Prompt, DefaultPrompt))
	r.End, r.Arrival, r.Down = end, b.scenario.Arrival, b.scenario.Down
	return r
}
