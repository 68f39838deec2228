package measure

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"time"

	"locklab/harness"
	"locklab/harness/result"
	"locklab/internal/stat"
)

// Servers on Java compile themselves while they serve. ZooKeeper just after its start takes
// five times the processor time of 20 seconds of load later. Compilation depends on the
// requests, so the servers are warmed up with the cases of the plan.
const (
	warmWindow  = 150 * time.Millisecond // of a case
	warmCases   = 6                      // greatest number in a pass: other workers and locks are similar
	warmWorkers = 16                     // greatest number in a case: more take longer to connect
	warmStretch = 3 * time.Second        // least time of passes that are compared with the previous ones
	warmOps     = 4000                   // least acquisitions in a stretch: compilation depends on their number
	warmSteady  = 0.95                   // of the processor time of the previous stretch
	warmSerial  = -1 << 20               // the number of the first measurement, unlike any of [Plan.Seek]
)

// WarmsUp reports whether servers of that kind get faster while they serve.
func WarmsUp(kind string) bool { return kind == harness.KindZooKeeper }

// WarmUp drives cases of p on the servers of near at at, in fresh processes, undelayed, until
// the processor time of an acquisition stops falling, or for most. It discards the results,
// and omits a case without one or with a violation.
func (p *Plan) WarmUp(ctx context.Context, near Site, at harness.Endpoint, most time.Duration) (result.WarmUp, error) {
	plan, known, serial := *p, calibrate(), warmSerial
	plan.Endpoints, plan.Together = map[Site]harness.Endpoint{near: at}, nil
	return warmUp(ctx, p.Cases, near, most, func(c Case) (*result.Result, error) {
		serial--
		return plan.measure(ctx, c, known, 0, serial)
	})
}

// WarmUp is [Plan.WarmUp] in this process, with these cases.
func WarmUp(ctx context.Context, in *Instruments, cases []Case, at harness.Endpoint, most time.Duration) (result.WarmUp, error) {
	serial := 0
	return warmUp(ctx, cases, Site{Kind: at.Kind, Servers: len(at.Addrs[0])}, most, func(c Case) (*result.Result, error) {
		serial++
		return Measure(ctx, in, Job{Lock: c.Lock, Workload: c.Workload, At: at, Seed: 1, Key: fmt.Sprintf("warm-up-%d-%d", os.Getpid(), serial)})
	})
}

func warmUp(ctx context.Context, cases []Case, near Site, most time.Duration, drive func(Case) (*result.Result, error)) (result.WarmUp, error) {
	w := warming{cases: spread(warmable(cases, near), warmCases), drive: drive, begin: time.Now(), most: most}
	err := w.run(ctx)
	return w.said, err
}

// spread returns at most n of all, evenly spaced.
func spread(all []Case, n int) []Case {
	if len(all) <= n {
		return all
	}
	out := make([]Case, n)
	for i := range out {
		out[i] = all[(2*i+1)*len(all)/(2*n)]
	}
	return out
}

// A warming is the state of a warm-up.
type warming struct {
	cases []Case
	drive func(Case) (*result.Result, error)
	begin time.Time
	most  time.Duration
	said  result.WarmUp
}

func (w *warming) over() bool { return time.Since(w.begin) >= w.most }

func (w *warming) run(ctx context.Context) error {
	var before map[string][]float64
	for len(w.cases) > 0 && !w.said.Steady && !w.over() {
		costs, err := w.stretch(ctx)
		if err != nil {
			return err
		}
		w.said.Took = time.Since(w.begin)
		w.said.Steady = ratioOf(costs, before) >= warmSteady
		before = costs
	}
	return nil
}

func (w *warming) stretch(ctx context.Context) (map[string][]float64, error) {
	costs := make(map[string][]float64)
	ops := uint64(0)
	for begin := time.Now(); (time.Since(begin) < warmStretch || ops < warmOps) && len(w.cases) > 0 && !w.over(); {
		var pass []float64
		rand.Shuffle(len(w.cases), func(i, j int) { w.cases[i], w.cases[j] = w.cases[j], w.cases[i] })
		for _, c := range slices.Clone(w.cases) {
			if w.over() {
				break
			}
			cost, n, err := w.measure(ctx, c)
			if err != nil {
				return nil, err
			}
			if n > 0 {
				costs[c.Name()], pass = append(costs[c.Name()], cost), append(pass, cost)
				ops += n
			}
		}
		if len(pass) > 0 {
			w.said.Last = stat.MidMean(pass)
			w.said.First = cmp.Or(w.said.First, w.said.Last)
		}
	}
	return costs, nil
}

// measure drives c once and returns the cost and the number of its acquisitions. It returns
// 0 for a case that is omitted from now on.
func (w *warming) measure(ctx context.Context, c Case) (cost float64, ops uint64, err error) {
	res, err := w.drive(c)
	switch {
	case ctx.Err() != nil:
		return 0, 0, context.Cause(ctx)
	case err != nil && lostBy(err) == nil:
		return 0, 0, err
	case res == nil || len(res.Violations) > 0 || res.Ops == 0:
		w.cases = slices.DeleteFunc(w.cases, func(x Case) bool { return x.Name() == c.Name() })
		return 0, 0, nil
	}
	return serverCost(res), res.Ops, nil
}

// serverCost returns the servers' processor time per acquisition, in ns, or, if they do not
// report it, the time between acquisitions.
func serverCost(r *result.Result) float64 {
	if ns, ok := result.ServerCPU.Of(r); ok {
		return ns
	}
	return float64(r.Elapsed) / float64(r.Ops)
}

// warmable returns the cases that warm up the servers of near: closed loops, without delay,
// each once. A loop in another program would have to warm up itself.
func warmable(cases []Case, near Site) (out []Case) {
	for _, c := range cases {
		if c.Site().Near() != near || c.Lock.Loop != nil || c.Lock.Status == harness.Broken || c.Lock.Status == harness.Historical {
			continue
		}
		c.Sought = false
		w := &c.Workload
		w.Delay, w.Rate, w.Arrivals, w.Deadline, w.Ranks = 0, 0, harness.Poisson, 0, 0
		w.Workers, w.Clients = min(w.Workers, warmWorkers), min(w.Clients, warmWorkers)
		w.Warmup, w.Window = warmWindow/5, warmWindow
		if !slices.ContainsFunc(out, func(x Case) bool { return x.Name() == c.Name() }) {
			out = append(out, c)
		}
	}
	return out
}

func ratioOf(now, before map[string][]float64) float64 {
	var ratios []float64
	for name, costs := range now {
		if was := before[name]; len(was) > 0 {
			ratios = append(ratios, stat.Median(costs)/stat.Median(was))
		}
	}
	return stat.MidMean(ratios)
}
