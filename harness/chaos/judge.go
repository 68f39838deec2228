package chaos

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"time"

	"locklab/harness"
	"locklab/harness/oracle"
	"locklab/harness/result"
)

// judgeTry returns one lock's outcome. The try does not count if the machine explains every
// unexpected anomaly.
func (b *batch) judgeTry(t *Try, s *Subject, over int64) *result.FaultResult {
	r := b.scenario.result(s.Variant)
	r.Seed = t.Seed
	if s.failed != nil {
		return notMade(r, s.failed)
	}
	rules := oracle.RulesOf(s.Variant.Traits, cmp.Or(b.scenario.Prompt, DefaultPrompt))
	rules.End, rules.Arrival, rules.Down = over, b.scenario.Arrival, b.scenario.Down
	rules.Kept, rules.Delays = !slices.Contains(r.Expected.Anomalies, oracle.TwoHolders), t.excuses(r.Expected)
	history := s.history.until(over)
	j := oracle.Judge(history, rules)
	excuse, delayed := s.excuse(&j, rules.Delays)
	seen := slices.Concat(j.Anomalies(), slices.Collect(maps.Keys(s.anomalies)))
	hurt := slices.ContainsFunc(seen, func(h oracle.Anomaly) bool { return !slices.Contains(r.Expected.Anomalies, h) })
	if excuse != "" && !hurt {
		r.Starved, r.Notes = 1, []string{"a try did not count: " + excuse}
		if delayed > 0 {
			r.Figures = []result.FaultFigure{{Name: delayedFigure, Unit: "ms", Values: []float64{float64(delayed) / 1e6}}}
		}
		return r
	}
	if len(seen)+len(j.Windows) == 0 && (!b.scenario.NoFault || s.ended != nil) {
		return notMade(r, cmp.Or(s.ended, errors.New("chaos: the try ended before it")))
	}
	r.Tries, r.Seen = 1, make(map[oracle.Anomaly]int)
	for _, anomaly := range seen {
		r.Seen[anomaly] = 1
	}
	r.Notes, r.Figures = append(s.notes, result.Each(j.Findings, func(f oracle.Finding) string { return f.Text })...), s.figures
	if s.history.cut {
		r.Notes = append(r.Notes, fmt.Sprintf("the history has more than %d events: the rest was not judged", s.history.most))
	}
	if r.Seen[oracle.TwoHolders]+r.Seen[oracle.TokenFell] == 0 { // else no lock could have made it
		b.prove(r, &j, rules)
	}
	if b.keepsHistory(r) {
		b.save(r, history, t.Number)
	}
	r.Window, r.Notice, r.Overlap = times(j)
	if len(r.Seen) > 0 {
		all := slices.DeleteFunc(slices.Clone(oracle.Anomalies), func(h oracle.Anomaly) bool { return r.Seen[h] == 0 })
		r.Together = []result.Together{{Anomalies: all, Tries: 1}}
	}
	return r
}

func notMade(r *result.FaultResult, err error) *result.FaultResult {
	r.Failed, r.Notes = 1, []string{reason(err)}
	return r
}

// reason leaves out the hint to set up a server.
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
	linear, at := oracle.CheckLinear(j, rules, time.Second/2, 2*time.Second)
	proven := result.FaultFigure{Name: "history proven", Values: []float64{0}}
	switch linear {
	case oracle.Violated:
		r.Seen[oracle.Misled] = 1
		r.Notes = append(r.Notes, fmt.Sprintf("misled: no lock could have done what its clients were told in the %v from %v on",
			time.Duration(at.To-at.From), time.Duration(at.From-j.Start)))
	case oracle.Proven:
		proven.Values[0] = 1
	}
	r.Figures = append(r.Figures, proven)
}

func times(j oracle.Judgement) (window, notice, overlap []int64) {
	granted, longest := false, time.Duration(0)
	for _, w := range j.Windows {
		granted, longest = granted || w.Granted, max(longest, w.Length)
	}
	if granted {
		window = []int64{int64(longest)}
	}
	if len(j.Notices) > 0 {
		notice = []int64{int64(slices.Min(j.Notices))}
	}
	if j.Longest > 0 {
		overlap = []int64{int64(j.Longest)}
	}
	return window, notice, overlap
}

func (b *batch) keepsHistory(r *result.FaultResult) bool {
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

// The bounds of histories. An event takes some 100 bytes of memory, and as many to judge it.
const (
	// mostEvents is the number of events kept of a try, for all locks: a worker that locks as
	// fast as it can makes ten thousand a second.
	mostEvents = 1 << 21

	mostOfOne = 1 << 20 // the limit for one lock
)

// A record is the growing history of a lock, with answers to frequent questions of scenarios.
type record struct {
	most   int // limit of events; the rest is dropped
	events oracle.History
	cut    bool // there were more than most

	grants int
	last   int64         // time of the latest grant
	latest map[int]int64 // time of each worker's latest grant
	holds  map[int]bool  // workers that were granted the lock and have neither released it nor been notified of its loss
}

func newRecord(most int) record {
	return record{most: most, latest: make(map[int]int64), holds: make(map[int]bool)}
}

func (r *record) add(e oracle.Event) {
	switch e.Kind {
	case oracle.Granted:
		r.grants++
		r.last, r.latest[e.Worker] = max(r.last, e.At), max(r.latest[e.Worker], e.At)
		r.holds[e.Worker] = true
	case oracle.Told, oracle.Releasing, oracle.Killed:
		delete(r.holds, e.Worker)
	}
	if r.cut = len(r.events) >= r.most; !r.cut {
		r.events = append(r.events, e)
	}
}

func (r *record) until(end int64) oracle.History {
	r.events.Sort()
	return r.events[:sort.Search(len(r.events), func(i int) bool { return r.events[i].At > end })]
}

const delayedFigure = "not run by the machine, in a try that does not count"

// excuse returns the machine's effect on a try of s, "" if it does not matter, and the delay of
// a process, 0 if a holder did not run. It adds the anomalies shown by the scenario that the
// machine does not explain.
func (s *Subject) excuse(j *oracle.Judgement, delays *oracle.Delays) (why string, delayed time.Duration) {
	for _, h := range s.timed {
		if e, ok := delays.Excuse(h.Anomaly, h.From, h.To, h.spare); ok {
			why, delayed = fmt.Sprintf("%s: %s, and %s", h.Anomaly, h.Text, notRun(e)), e.Delayed
			continue
		}
		s.Show(h.Anomaly, "%s", h.Text)
	}
	if len(j.Excused) > 0 {
		e := j.Excused[len(j.Excused)-1]
		why, delayed = fmt.Sprintf("%s: a wait of %v from %v on, of which %s", e.Anomaly, e.Waited.Round(time.Millisecond),
			time.Duration(e.From-j.Start).Round(time.Millisecond), notRun(e)), e.Delayed
	}
	if len(j.Starved) > 0 && len(j.Overlaps) == 0 {
		return "the machine kept the process of a holder from running until the next one had entered", 0
	}
	return why, delayed
}

func notRun(e oracle.Excuse) string {
	return fmt.Sprintf("the machine did not run %s for %v", e.Process, e.Delayed.Round(time.Millisecond))
}
