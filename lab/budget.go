package lab

import (
	"fmt"
	"slices"
	"sort"
	"time"

	"locklab/harness/measure"
	"locklab/harness/result"
	"locklab/internal/numfmt"
	"locklab/internal/stat"
)

// Limits on the use of a budget.
const (
	minWindow  = 20 * time.Millisecond  // of a local lock
	fairWindow = 100 * time.Millisecond // least for several workers: ten preemption slices of the Go scheduler
	maxWindow  = 4 * defaultWindow
	maxRounds  = 50
	loadWindow = 340 * time.Millisecond // least for an open loop of a remote lock: a thousand waits at 1000/s in three rounds, ten of them above p99
	reportTime = 2 * time.Second        // to write the report at the end, approximately
)

// fit chooses rounds and windows so that p takes about budget, and keeps the user's values. It
// uses the most rounds that fit with windows of fairWindow, up to maxRounds. Locks that share a
// process have windows in every second round: ratios need more processes than waits need windows.
// If too few rounds fit, fit shortens the windows, down to minWindow. Then it plans windows in each
// round. Last it drops rounds, down to the least for an interval. Remaining time extends the
// windows, up to maxWindow.
//
// If even the least plan does not fit, fit leaves p as that and returns an error.
func (o runOptions) fit(p *measure.Plan, budget time.Duration) error {
	p.Budget = 0
	switch {
	case o.rounds > 0 && o.duration > 0:
		return usage("give --budget, or --rounds and --duration: together they leave nothing to choose")
	case o.rounds > 0:
		p.Rounds = o.rounds
		o.fitWindows(p, budget)
	case o.duration > 0:
		o.fitRounds(p, budget, o.duration, stat.MinRounds)
	default:
		for _, try := range []struct {
			every, rounds int
			window        time.Duration
		}{{2, roundsFor(2), fairWindow}, {1, defaultRounds, fairWindow}, {1, stat.MinRounds, minWindow}} {
			if try.every > 1 && !p.Shared() {
				continue
			}
			p.Every.Window = try.every
			o.fitRounds(p, budget, try.window, try.rounds)
			if o.fitWindows(p, budget); p.Estimate() <= budget {
				break
			}
		}
	}
	if o.rounds == 0 {
		p.Budget, p.Least, p.Most = max(1, budget), roundsFor(p.Every.Window), max(maxRounds, p.Rounds)
	}
	if low := p.Estimate(); low > budget {
		return usage("a budget of %v is too small: %s in %s take at least %v; choose fewer locks, workers or rounds", o.budget, numfmt.Plural(len(p.Cases), "case"), numfmt.Plural(p.Rounds, "round"), (low + reportTime).Round(time.Second))
	}
	return nil
}

// roundsFor returns the least rounds with enough windows for an interval.
func roundsFor(windowEvery int) int { return (stat.MinRounds-1)*max(1, windowEvery) + 1 }

func (o runOptions) fitRounds(p *measure.Plan, budget, window time.Duration, least int) {
	o.setWindows(p, window)
	p.Rounds = 0
	before := p.Estimate()                                   // the search for rates
	p.Rounds = max(1, p.Every.Open) * max(1, p.Every.Window) // the next as many rounds are the same
	p.Rounds = max(least, min(max(least, maxRounds), int(float64(p.Rounds)*float64(budget-before)/float64(p.Estimate()-before))+p.Rounds))
	for p.Rounds > least && p.Estimate() > budget {
		p.Rounds--
	}
}

func (o runOptions) fitWindows(p *measure.Plan, budget time.Duration) {
	more := sort.Search(int((maxWindow-minWindow)/time.Millisecond), func(i int) bool {
		o.setWindows(p, minWindow+time.Duration(i+1)*time.Millisecond)
		return p.Estimate() > budget
	})
	o.setWindows(p, minWindow+time.Duration(more)*time.Millisecond)
}

// baseOf returns the window with which setWindows sets the windows of p.
func (o runOptions) baseOf(p *measure.Plan) time.Duration {
	return slices.Min(result.Each(p.Cases, func(c measure.Case) time.Duration {
		if c.Lock.Remote != nil && o.duration == 0 {
			return c.Workload.Window / remoteStretch
		}
		return c.Workload.Window
	}))
}

func (o runOptions) setWindows(p *measure.Plan, window time.Duration) {
	for i := range p.Cases {
		w := &p.Cases[i].Workload
		w.Window = window
		c := p.Cases[i]
		remote, open := c.Lock.Remote != nil, w.Rate > 0 || c.Sought
		if o.duration == 0 {
			if remote {
				w.Window *= remoteStretch
			}
			switch {
			case remote && open:
				w.Window = max(w.Window, loadWindow)
			case !open && w.Workers > 1 && (remote || c.Lock.Local != nil):
				w.Window = max(w.Window, fairWindow)
			}
		}
		w.Warmup = w.Window / warmupShare
		if o.warmup > 0 {
			w.Warmup = o.warmup
		}
	}
}

func tooFewRounds(p *measure.Plan) string {
	if p.Rounds >= stat.MinRounds {
		return ""
	}
	return fmt.Sprintf("%s cannot give an interval or a recommendation: leave out --rounds, or give %d or more", numfmt.Plural(p.Rounds, "round"), stat.MinRounds)
}
