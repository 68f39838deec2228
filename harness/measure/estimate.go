package measure

import (
	"context"
	"fmt"
	"slices"
	"time"

	"locklab/harness"
	"locklab/internal/stat"
)

// The cost of a process in addition to its windows. A case with a window of 2 ms takes some 25
// ms more on two virtual processors, twice that if half are busy. [Plan.Probe] measures it.
const (
	processCost = 40 * time.Millisecond
	clientCost  = 3 * time.Millisecond  // per client: with 64 clients a case took 2 to 6 ms longer for each than with one, depending on the lock
	tripsCost   = 25 * time.Millisecond // the round trips to a server around the window
	sharedCost  = 35 * time.Millisecond // a lock in a process that it shares: five drives of 16 workers begin and end, probes
)

// Estimate returns the approximate duration of p.
func (p *Plan) Estimate() time.Duration { return p.estimateOf(nil, p.Rounds) }

// EstimateOf is Estimate for the cases picked by has. If rates must be searched, it
// includes the search.
func (p *Plan) EstimateOf(has func(Case) bool) time.Duration { return p.estimateOf(has, p.Rounds) }

func (p *Plan) estimateOf(has func(Case) bool, rounds int) (d time.Duration) {
	sizes := p.sizes()
	for _, c := range p.Cases {
		if has != nil && !has(c) {
			continue
		}
		each := p.estimateIn(c.StandIn(), sizes)
		if c.Unknown() {
			d += p.seekTime(c)
			each *= time.Duration(len(saturationShares))
		}
		d += each * time.Duration(p.RoundsOf(c.StandIn(), rounds))
	}
	return d
}

func (p *Plan) estimate(c Case) time.Duration { return p.estimateIn(c, nil) }

func (p *Plan) estimateIn(c Case, sizes map[unitKey]int) time.Duration {
	cost := processCost
	blocks := time.Duration(0)
	remote := c.Lock.Remote != nil
	if n := sizes[c.unit()]; n > 1 && p.shares(c) {
		cost = sharedCost + processCost/time.Duration(n)
		blocks = time.Duration(passes(c.Workload, remote)) * block(c.Workload, remote)
	}
	if remote {
		cost += tripsCost + clientCost*time.Duration(c.Workload.Workers)
	}
	if f, probed := p.cost[c.Site()]; probed {
		cost = time.Duration(f * float64(cost))
	}
	windows := c.Workload.Warmup + c.Workload.Window
	if c.Workload.Rate > 0 {
		windows += time.Duration(lead * float64(windows))
	}
	return windows + blocks + cost
}

// The windows of a probe, and its number of cases: for all servers together, and for each.
const (
	probeWindow = 10 * time.Millisecond
	probeCases  = 24
	probeLeast  = 4
	probeMost   = 8
)

// Probe measures the current cost of a case, without its windows, on this machine. It runs
// a few short cases of each kind of lock and of servers, in a second or two.
// [Plan.Estimate] uses the result from then on. A case without a result is omitted.
func (p *Plan) Probe(ctx context.Context) error {
	if err := p.Validate(); err != nil {
		return err
	}
	known := calibrate()
	cost := make(map[harness.Site]float64)
	sites := append(p.Sites(), harness.Site{}) // of local locks
	serial := 0
	for _, site := range sites {
		var factors []float64
		for _, c := range spread(p.Cases, site, min(probeMost, max(probeLeast, probeCases/len(sites)))) {
			c.Workload.Warmup, c.Workload.Window = probeWindow, probeWindow
			c = c.StandIn()
			serial--
			want := p.estimate(c) - 2*probeWindow
			begin := time.Now()
			res, err := p.measure(ctx, c, known, 0, serial)
			took := time.Since(begin) - 2*probeWindow
			switch {
			case ctx.Err() != nil:
				return context.Cause(ctx)
			case lostBy(err) != nil, res != nil && len(res.Workers) == 0: // it crashed or hung
			case err != nil:
				return err
			default:
				factors = append(factors, max(0, float64(took)/float64(want)))
			}
		}
		if len(factors) > 0 {
			cost[site] = stat.MidMean(factors)
		}
	}
	p.cost = cost
	return nil
}

func spread(cases []Case, site harness.Site, n int) []Case {
	all := slices.DeleteFunc(slices.Clone(cases), func(c Case) bool { return c.Site() != site })
	if len(all) <= n {
		return all
	}
	out := make([]Case, n)
	for i := range out {
		out[i] = all[(2*i+1)*len(all)/(2*n)]
	}
	return out
}

// A progress is the progress of a run and its rate.
type progress struct {
	plan        *Plan
	sizes       map[unitKey]int
	begin       time.Time
	rounds      int
	done, total int           // cases
	ahead       time.Duration // estimate of the remaining cases
	behind      time.Duration // estimate of the cases that this run has measured
}

func (p *Plan) progress(now time.Time) *progress {
	sizes := p.sizes()
	r := &progress{plan: p, sizes: sizes, begin: now, rounds: p.Rounds, total: p.Total()}
	for round := range r.rounds {
		for _, c := range p.Cases {
			switch {
			case !p.due(c, round):
			case p.has(c, round):
				r.done++
			default:
				r.ahead += p.estimateIn(c, sizes)
			}
		}
	}
	return r
}

func (r *progress) add(c Case) {
	e := r.plan.estimateIn(c, r.sizes)
	r.done++
	r.ahead -= e
	r.behind += e
}

// settled is the length of the run after which its rate is more reliable than the estimate.
const settled = 2 * time.Second

func (r *progress) left(now time.Time) time.Duration {
	if r.behind < settled {
		return r.ahead
	}
	return time.Duration(float64(r.ahead) * float64(now.Sub(r.begin)) / float64(r.behind))
}

// replan adjusts the rounds after behind rounds, to end as close to the budget as possible.
func (r *progress) replan(behind int, now time.Time) {
	p := r.plan
	if p.Budget == 0 {
		return
	}
	slowdown := float64(now.Sub(r.begin)) / float64(r.behind)
	fit := behind
	for fit < p.Most && slowdown*float64(p.estimateOf(nil, fit)+p.estimateOf(nil, fit+1))/2 <= float64(p.Budget) {
		fit++
	}
	rounds := max(behind, min(max(fit, p.Least), p.Most))
	r.ahead += p.estimateOf(nil, rounds) - p.estimateOf(nil, r.rounds)
	r.rounds, r.total = rounds, p.total(rounds)
}

func (p *Plan) checkBudget() error {
	if p.Budget != 0 && (p.Least < 1 || p.Most < p.Least || p.Done != nil) {
		return fmt.Errorf("measure: a plan with a budget needs bounds for its rounds, and nothing done before: %d to %d", p.Least, p.Most)
	}
	return nil
}
