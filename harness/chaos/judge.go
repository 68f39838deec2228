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
)

func (b *batch) judge(t *Try, s *Subject, over int64) *harness.FaultResult {
	r := b.scenario.result(s.Variant)
	r.Seed = t.Seed
	for _, o := range s.others {
		s.failed = cmp.Or(s.failed, o.failed)
	}
	if s.failed != nil {
		r.Failed = 1
		r.Notes = []string{reason(s.failed)}
		return r
	}
	r.Tries = 1
	r.Seen = make(map[harness.Harm]int)
	delays := t.excuses(r.Expected)
	for _, one := range append([]*Subject{s}, s.others...) {
		x := b.judgeOne(r, one, delays, t.Number, over)
		if x == nil {
			continue
		}
		r = b.scenario.result(s.Variant)
		r.Seed = t.Seed
		r.Starved, r.Notes = 1, []string{"a try did not count: " + x.why}
		if x.Delayed > 0 {
			r.Figures = []harness.FaultFigure{{Name: delayedFigure, Unit: "ms", Values: []float64{float64(x.Delayed) / 1e6}}}
		}
		return r
	}
	if len(r.Seen) > 0 {
		all := slices.DeleteFunc(slices.Clone(harness.Harms), func(h harness.Harm) bool { return r.Seen[h] == 0 })
		r.Together = []harness.Together{{Harms: all, Tries: 1}}
	}
	return r
}

// judgeOne adds one lock's outcome to r, and its history if worth keeping. It returns an excuse
// if the machine explains every unexpected harm.
func (b *batch) judgeOne(r *harness.FaultResult, s *Subject, delays *oracle.Delays, n int, over int64) *excuse {
	rules := b.rules(s.Variant, over)
	rules.Starvation, rules.Delays = !slices.Contains(r.Expected.Harms, harness.TwoHolders), delays
	history := s.history.until(over)
	j := oracle.Judge(history, rules)
	x := s.excuse(&j, delays)
	if x != nil && !s.hurt(&j, r.Expected) {
		return x
	}
	one := &harness.FaultResult{Scenario: r.Scenario, Lock: r.Lock, Expected: r.Expected, Seen: make(map[harness.Harm]int)}
	for _, harm := range j.Harms() {
		one.Seen[harm] = 1
	}
	for harm := range s.harms {
		one.Seen[harm] = 1
	}
	one.Notes = append(s.notes, j.Notes...)
	one.Figures = s.figures
	if s.history.cut {
		one.Notes = append(one.Notes, fmt.Sprintf("the history has more than %d events: the rest was not judged", s.history.most))
	}
	if one.Seen[harness.TwoHolders]+one.Seen[harness.TokenFell] == 0 { // else no lock could have made it
		b.prove(one, &j, rules)
	}
	if len(s.spared) > 0 {
		spare(one, s, j)
	}
	if b.worth(one) && len(r.Histories) == 0 {
		if name := b.save(one, history, n); name != "" {
			one.Histories = []string{name}
		}
	}
	if len(s.spared) == 0 {
		one.Window, one.Margin, one.Overlap = times(j)
	}
	join(r, one)
	return nil
}

// spare removes from r, which covers s alone, the harms that are not the lock's fault.
func spare(r *harness.FaultResult, s *Subject, j oracle.Judgement) {
	for _, h := range s.spared {
		delete(r.Seen, h)
	}
	if len(r.Seen) == 0 {
		r.Notes = s.notes
	}
	if window, _, _ := times(j); len(window) > 0 {
		r.Figures = append(r.Figures, harness.FaultFigure{Name: "window of what was hit", Unit: "ms", Values: []float64{float64(window[0]) / 1e6}})
	}
}

// join adds the outcome of another lock of the same try to r: the worst of each time.
func join(r, one *harness.FaultResult) {
	maps.Copy(r.Seen, one.Seen)
	r.Notes = append(r.Notes, one.Notes...)
	for _, f := range one.Figures {
		i := slices.IndexFunc(r.Figures, func(g harness.FaultFigure) bool { return g.Name == f.Name })
		if i < 0 {
			r.Figures = append(r.Figures, f)
		} else { // whether the history is proven
			r.Figures[i].Values[0] = min(r.Figures[i].Values[0], f.Values[0])
		}
	}
	worst := func(to *[]int64, from []int64, of func(...int64) int64) {
		for _, v := range from {
			if len(*to) == 0 {
				*to = []int64{v}
			}
			(*to)[0] = of((*to)[0], v)
		}
	}
	worst(&r.Window, one.Window, func(v ...int64) int64 { return slices.Max(v) })
	worst(&r.Margin, one.Margin, func(v ...int64) int64 { return slices.Min(v) })
	worst(&r.Overlap, one.Overlap, func(v ...int64) int64 { return slices.Max(v) })
	r.Histories = append(r.Histories, one.Histories...)
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
func (b *batch) prove(r *harness.FaultResult, j *oracle.Judgement, rules oracle.Rules) {
	check := oracle.CheckLinear(j, rules, time.Second/2, 2*time.Second)
	proven := harness.FaultFigure{Name: "history proven", Values: []float64{0}}
	switch check.Verdict {
	case oracle.Violated:
		r.Seen[harness.Misled] = 1
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
// first occurrence of an expected harm other than a stall.
func (b *batch) worth(r *harness.FaultResult) bool {
	for h := range r.Seen {
		expected := r.Expected.Why == "" || slices.Contains(r.Expected.Harms, h)
		if !expected || h != harness.Stall && b.saved[r.Lock.Name] == 0 {
			return true
		}
	}
	return false
}

const mostHistories = 3

func (b *batch) save(r *harness.FaultResult, h oracle.History, n int) string {
	if b.plan.Dir == "" || b.saved[r.Lock.Name] >= mostHistories {
		return ""
	}
	name := fmt.Sprintf("history-%s-%s-%d.jsonl", r.Scenario, r.Lock.Name, n)
	f, err := os.Create(filepath.Join(b.plan.Dir, name))
	if err == nil {
		err = errors.Join(h.Write(f), f.Close())
	}
	if err != nil {
		r.Notes = append(r.Notes, fmt.Sprintf("the history could not be kept: %v", err))
		return ""
	}
	if b.saved == nil {
		b.saved = make(map[string]int)
	}
	b.saved[r.Lock.Name]++
	return name
}

func (b *batch) rules(v *harness.Variant, end int64) oracle.Rules {
	prompt := b.scenario.Prompt
	if prompt == 0 {
		prompt = DefaultPrompt
	}
	r := oracle.RulesOf(v.Traits, prompt)
	r.End, r.Arrival, r.Down = end, b.scenario.Arrival, b.scenario.Down
	return r
}
