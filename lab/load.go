package lab

import (
	"fmt"
	"slices"
	"time"

	"github.com/spf13/pflag"

	"locklab/harness"
)

// A loading is the open-loop axes from the user.
type loading struct {
	rates     []harness.Rate // 0 is a closed loop, autoRate the rates around the saturation point of each lock
	arrivals  []harness.Arrival
	deadlines []time.Duration // 0 is no deadline
}

// autoRate stands for the rates around the saturation point: see measure.Plan.Seek.
const autoRate harness.Rate = -1

const auto = "auto"

func (l *loading) flags(f *pflag.FlagSet) {
	f.Var(list(&l.rates, parseRate), "rate", "acquisitions requested by all workers together: 500/s, 1k/s, 2/us; closed: each worker asks again at once; auto finds the saturation point of each lock and measures around it (default closed)")
	f.Var(list(&l.arrivals, parseName(harness.Arrivals)), "arrivals", "spacing of the arrivals of --rate: poisson, even (default poisson)")
	f.Var(list(&l.deadlines, parseDeadline), "deadline", "drop an acquisition of --rate that waits longer than this: 10ms; 0 is never (default 0)")
}

func (a axes) checkLoad() error {
	switch open := a.open(); {
	case !open && a.arrivals != nil:
		return usage("--arrivals needs a rate, such as --rate 500/s: workers that ask again at once have no arrivals")
	case !open && a.deadlines != nil:
		return usage("--deadline needs a rate, such as --rate 500/s: it counts from when an acquisition was meant to begin")
	case open && !a.auto() && a.workers == nil:
		return usage("--rate needs --workers: how many acquisitions may be under way at once, such as 64; with too few the loop does not stay open")
	case a.auto() && slices.ContainsFunc(a.think, func(s harness.Span) bool { return s.Mean > 0 }):
		return usage("--think and --rate auto both decide when workers ask: leave out one of them")
	}
	return nil
}

func (l loading) open() bool {
	return slices.ContainsFunc(l.rates, func(r harness.Rate) bool { return r != 0 })
}

func (l loading) auto() bool { return slices.Contains(l.rates, autoRate) }

// The default workers for a search: some are always free while the lock keeps up.
const (
	autoWorkers      = 64 // of a distributed lock
	autoLocalWorkers = 4  // per processor, of a local lock
)

func pool(v *harness.Variant, cpus int) []int {
	n := autoLocalWorkers * cpus
	if v.Traits.Needs != "" {
		n = autoWorkers
	}
	if most := v.Traits.MaxWorkers; most > 0 {
		n = min(n, most)
	}
	return []int{n}
}

func parseRate(text string) (harness.Rate, error) {
	if text == auto {
		return autoRate, nil
	}
	r, err := set[harness.Rate](text)
	if err != nil {
		err = fmt.Errorf("%w, or auto for those around the saturation point of each lock", err)
	}
	return r, err
}

// cross: a closed workload has no arrivals or deadline.
func (l loading) cross(ws []harness.Workload) []harness.Workload {
	ws = cross(ws, or(l.rates, 0), func(w *harness.Workload, x harness.Rate) { w.Rate = x })
	open := func(w harness.Workload) bool { return w.Rate != 0 }
	closed := slices.DeleteFunc(slices.Clone(ws), open)
	ws = cross(filter(ws, open), or(l.arrivals, harness.Poisson), func(w *harness.Workload, x harness.Arrival) { w.Arrivals = x })
	ws = cross(ws, or(l.deadlines, 0), func(w *harness.Workload, x time.Duration) { w.Deadline = x })
	return append(closed, ws...)
}

var parseDeadline = within(0, harness.MaxDeadline, time.ParseDuration, fmt.Sprintf("a deadline: want a duration such as 10ms, up to %v, or 0 for none", harness.Span{Mean: harness.MaxDeadline}))
