package measure

import (
	"fmt"
	"time"
)

// The cost of a process in addition to its windows. A case with a window of 2 ms takes some 25
// ms more on two virtual processors, twice that if half are busy.
const (
	processCost = 40 * time.Millisecond
	clientCost  = 3 * time.Millisecond  // per client: with 64 clients a case took 2 to 6 ms longer for each than with one, depending on the lock
	sharedCost  = 6 * time.Millisecond  // a lock in a process that it shares: three drives of 16 workers begin and end
	probesCost  = 16 * time.Millisecond // the transfers or round trips around a window
)

// Estimate returns the approximate duration of p. If rates must be searched, it includes the
// search.
func (p *Plan) Estimate() time.Duration { return p.estimateOf(p.Rounds) }

func (p *Plan) estimateOf(rounds int) (d time.Duration) {
	for _, u := range p.units() {
		for _, c := range u {
			levels, known := time.Duration(1), c.StandIn()
			if c.Unknown() {
				d += p.seekTime(c)
				levels = time.Duration(len(saturationShares))
			}
			for round := range rounds {
				if p.due(known, round) {
					d += levels * p.estimate(known, len(u), round)
				}
			}
		}
	}
	return d
}

// estimate returns the approximate duration of c in a process of n cases.
func (p *Plan) estimate(c Case, n, round int) time.Duration {
	cost, window := processCost, c.Workload.Window
	blocks := time.Duration(0)
	remote := c.Lock.Remote != nil
	if n > 1 {
		cost = sharedCost + processCost/time.Duration(n)
		passes, length := p.blocks(c.Workload, remote, round)
		blocks = time.Duration(passes) * length
		if !remote {
			blocks += blocks * time.Duration(referenceBlocks(n)-1) / time.Duration(n)
		}
	}
	switch {
	case n > 1 && !p.windows(round):
		window = 0
	case n > 1 || remote:
		cost += probesCost
	}
	if remote {
		cost += clientCost * time.Duration(c.Workload.Workers)
	}
	windows := c.Workload.Warmup + window
	if c.Workload.Rate > 0 {
		windows += time.Duration(lead * float64(windows))
	}
	return windows + blocks + cost
}

// A progress is the progress of a run and its rate.
type progress struct {
	plan        *Plan
	builds      []Build
	lost        []int // consecutive losses, by build
	begin       time.Time
	rounds      int
	done, total int           // cases
	ahead       time.Duration // estimate of the remaining cases
	behind      time.Duration // estimate of the cases that this run has measured
}

func (p *Plan) progress(now time.Time, builds []Build) *progress {
	r := &progress{plan: p, builds: builds, lost: make([]int, len(builds)), begin: now, rounds: p.Rounds, total: p.Total() * len(builds)}
	for _, u := range p.units() {
		for _, c := range u {
			for round := range r.rounds {
				switch {
				case !p.due(c, round):
				case p.has(c, round):
					r.done += len(builds)
				default:
					r.ahead += p.estimate(c, len(u), round) * time.Duration(len(builds))
				}
			}
		}
	}
	return r
}

// add counts a measurement by a build with the estimate e; lost is the reason if it gave no result.
// After too many losses it returns an error.
func (r *progress) add(e time.Duration, build int, lost error) error {
	r.done++
	r.ahead -= e
	r.behind += e
	if r.lost[build]++; lost == nil {
		r.lost[build] = 0
	}
	if r.lost[build] < maxLost {
		return nil
	}
	who := ""
	if len(r.builds) > 1 {
		who = r.builds[build].Path + ": "
	}
	return fmt.Errorf("%w: %s%d cases in a row gave no result, the last: %w", ErrGaveUp, who, maxLost, lost)
}

// left returns the time that the remaining cases take at the rate of the run, if they count in
// that rate as estimated. So a few slow cases at the beginning change it little.
func (r *progress) left(now time.Time) time.Duration {
	if r.ahead == 0 {
		return 0
	}
	return time.Duration(float64(r.ahead) * float64(now.Sub(r.begin)+r.ahead) / float64(r.behind+r.ahead))
}

// replan adjusts the rounds after behind rounds, to end as close to the budget as possible.
// Noisy cases come first: they have more blocks if the least number of rounds leaves time.
func (r *progress) replan(behind int, now time.Time) {
	p := r.plan
	if p.Budget == 0 {
		return
	}
	n, spent := time.Duration(len(r.builds)), now.Sub(r.begin)
	set := func(rounds int) {
		r.ahead += n * (p.estimateOf(rounds) - p.estimateOf(r.rounds))
		r.rounds, r.total = rounds, p.total(rounds)*len(r.builds)
	}
	set(max(behind, p.Least))
	p.Race.spare = spent+r.left(now) < p.Budget
	for r.rounds < p.Most {
		less := r.left(now)
		if set(r.rounds + 1); spent+(less+r.left(now))/2 > p.Budget {
			set(r.rounds - 1)
			return
		}
	}
}
