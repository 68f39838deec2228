package hardware

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"locklab/internal/machine"
)

const coreCycles = "cycles"

func countable(event string) (ok bool, note string) {
	for _, s := range machine.ProbeEvents() {
		switch {
		case s.Event != event:
		case s.Reason != "":
			return false, fmt.Sprintf("core cycles n/a: %s", s.Reason)
		case s.UserOnly:
			return true, "core cycles are counted by the processor, in user mode only"
		default:
			return true, "core cycles are counted by the processor"
		}
	}
	return false, "core cycles n/a: no such event is known"
}

// countedPerOperation runs op on every thread of c for some milliseconds, like timed. It
// returns the mean number of events for an operation over the threads.
func countedPerOperation(c *pinnedThreads, event string, op func(thread, n int)) (float64, error) {
	each, errs := make([]float64, len(c.jobs)), make([]error, len(c.jobs))
	c.step(func(i int) {
		counters := machine.OpenCounters()
		defer counters.Close()
		before := counters.Read()
		ops := 0.0
		perOperation(5*time.Millisecond, batch, func(n int) {
			op(i, n)
			ops += float64(n)
		})
		count, err := countOf(event, before, counters.Read())
		each[i], errs[i] = count/ops, err
	})
	if err := errors.Join(errs...); err != nil {
		return 0, err
	}
	return mean(each), nil
}

func countOf(event string, before, after []machine.Count) (float64, error) {
	i := slices.IndexFunc(after, func(c machine.Count) bool { return c.Event == event })
	if i < 0 {
		return 0, fmt.Errorf("hardware: there is no event %s", event)
	}
	n, ok := after[i].Sub(before[i]).Value()
	if !ok {
		return 0, fmt.Errorf("hardware: cannot count %s: %s", event, after[i].Reason)
	}
	return n, nil
}
