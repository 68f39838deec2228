package lab

import (
	"fmt"
	"time"

	"locklab/harness"
	"locklab/harness/result"
	"locklab/harness/simulate"
)

// modelOf returns the model of a closed loop on one lock with constant times, or false.
func modelOf(w harness.Workload) (simulate.Workload, bool) {
	m := simulate.Workload{Workers: w.Workers, Hold: float64(w.Hold.Mean), Think: float64(w.Think.Mean), Wait: harness.WaitPause, Apart: true} // as workers are bound
	if w.Wait == harness.WaitSpin {
		m.Wait = w.Wait
	}
	if m.Lines = w.Section.Lines(); m.Lines == 0 && w.Section != harness.SectionWork {
		return m, false
	}
	plain := harness.Workload{Workers: w.Workers, Hold: harness.Span{Mean: w.Hold.Mean}, Think: harness.Span{Mean: w.Think.Mean},
		Wait: w.Wait, Pin: w.Pin, Section: w.Section, Window: w.Window, Warmup: w.Warmup}
	if w.Locks == 1 {
		plain.Locks = 1
	}
	return m, plain == w
}

// likeRun sets lines, hold and think time to the values with most results of spin locks in
// the run, unless the user gave one of them. The simulated points then match measured ones.
func (o *simulateOptions) likeRun() error {
	if o.into == "" || o.section {
		return nil
	}
	run, err := result.Load(o.into)
	if err != nil {
		return err
	}
	type section struct {
		lines       int
		hold, think float64
	}
	counts := make(map[section]int)
	var most section
	for _, r := range run.Results {
		w, ok := modelOf(r.Workload)
		if !ok || r.Lock.Family != harness.Spin || w.Hold > simulate.MaxTime || w.Think > simulate.MaxTime {
			continue
		}
		s := section{w.Lines, w.Hold, w.Think}
		if counts[s]++; counts[s] > counts[most] {
			most = s
		}
	}
	if counts[most] == 0 {
		return nil
	}
	o.lines, o.hold, o.think = fmt.Sprint(most.lines), time.Duration(most.hold).String(), time.Duration(most.think).String()
	return nil
}
