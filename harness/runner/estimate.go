package runner

import (
	"context"
	"fmt"
	"slices"
	"time"

	"locklab/harness"
	"locklab/harness/stat"
)

// What a fresh process costs beside its windows: start, calibration of work,
// probes, and the writing and reading of the result; for remote locks also the
// sessions. A case with a window of 2 ms takes some 25 ms more than that on a
// virtual machine with two processors, and twice as long where other programs
// take half of them. [Plan.Probe] measures what it costs here and now.
const (
	processCost = 40 * time.Millisecond
	clientCost  = 3 * time.Millisecond  // a case with 64 took 2 to 6 ms longer for each than one with one, by the lock
	tripsCost   = 25 * time.Millisecond // the round trips to a server around the window
	sharedCost  = 35 * time.Millisecond // a lock in a process that it shares: five drives of 16 workers begin and end, probes
)

// Estimate returns about how long p takes.
func (p *Plan) Estimate() time.Duration { return p.EstimateOf(anyCase) }

func anyCase(Case) bool { return true }

// EstimateOf is Estimate of the cases that has picks. Where rates are to be found, it
// has the search too.
func (p *Plan) EstimateOf(has func(Case) bool) time.Duration { return p.estimateOf(has, p.Rounds) }

func (p *Plan) estimateOf(has func(Case) bool, rounds int) (d time.Duration) {
	sizes := p.sizes()
	for _, c := range p.Cases {
		if !has(c) {
			continue
		}
		each := p.estimateIn(c.StandIn(), sizes)
		if c.Unknown() {
			d += p.seekTime(c)
			each *= time.Duration(len(kneeShares))
		}
		d += each * time.Duration(p.RoundsOf(c.StandIn(), rounds))
	}
	return d
}

// estimate returns how long c takes alone in a process.
func (p *Plan) estimate(c Case) time.Duration { return p.estimateIn(c, nil) }

// estimateIn returns how long c takes in a unit of one of sizes.
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

// The windows of a probe, and how many cases it takes: of all servers together, and of each.
const (
	probeWindow = 10 * time.Millisecond
	probeCases  = 24
	probeLeast  = 4
	probeMost   = 8
)

// Probe measures what a case costs beside its windows on this machine as it is
// now, with a few short ones of each kind of lock and of servers, a second or two in
// all. [Plan.Estimate] uses that from then on. A case that gives no result is left out.
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
			case lostBy(err) != nil, res != nil && len(res.Workers) == 0: // it crashed, or hung
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

// spread returns up to n cases of the locks that site keeps, evenly spread.
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

// A progress is how far a run has come and how fast.
type progress struct {
	plan        *Plan
	sizes       map[unitKey]int
	begin       time.Time
	rounds      int
	done, total int           // cases
	ahead       time.Duration // estimate of the cases that are left
	behind      time.Duration // estimate of those that this run has measured
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

// add notes that c was measured.
func (r *progress) add(c Case) {
	e := r.plan.estimateIn(c, r.sizes)
	r.done++
	r.ahead -= e
	r.behind += e
}

// settled is from how much of the run on its pace tells more than the estimate.
const settled = 2 * time.Second

// left returns how long the rest will take: the estimate, corrected by how long
// took what was measured.
func (r *progress) left(now time.Time) time.Duration {
	if r.behind < settled {
		return r.ahead
	}
	return time.Duration(float64(r.ahead) * float64(now.Sub(r.begin)) / float64(r.behind))
}

// replan chooses anew how many rounds there are, after some, so that the run
// ends as near to its budget as whole rounds do.
func (r *progress) replan(behind int, now time.Time) {
	p := r.plan
	if p.Budget == 0 {
		return
	}
	pace := float64(now.Sub(r.begin)) / float64(r.behind)
	fit := behind
	for fit < p.Most && pace*float64(p.estimateOf(anyCase, fit)+p.estimateOf(anyCase, fit+1))/2 <= float64(p.Budget) {
		fit++
	}
	rounds := max(behind, min(max(fit, p.Least), p.Most))
	r.ahead += p.estimateOf(anyCase, rounds) - p.estimateOf(anyCase, r.rounds)
	r.rounds, r.total = rounds, p.total(rounds)
}

// checkBudget reports a mistake in the bounds of the rounds.
func (p *Plan) checkBudget() error {
	if p.Budget != 0 && (p.Least < 1 || p.Most < p.Least || p.Done != nil) {
		return fmt.Errorf("runner: a plan with a budget needs bounds for its rounds, and nothing done before: %d to %d", p.Least, p.Most)
	}
	return nil
}
