package runner

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"time"

	"locklab/harness"
	"locklab/harness/metric"
	"locklab/harness/resultfile"
	"locklab/harness/stat"
)

// A server that Java runs is interpreted at first, and compiled while it serves: one of
// ZooKeeper that has just been started takes five times the processor time for an
// acquisition that it takes 20 seconds of load later, which no service sees but on the
// day when it starts its servers. What it compiles depends on what it has seen: after
// requests of another kind it begins anew. So it is warmed up by what will be measured.
const (
	warmWindow  = 150 * time.Millisecond // of a case
	warmCases   = 6                      // of a pass, at most: other workers and locks are of the same kind
	warmWorkers = 16                     // of a case, at most: more take longer to connect
	warmStretch = 3 * time.Second        // of passes, at least, that are set beside those before
	warmOps     = 4000                   // acquisitions in a stretch, at least: what is compiled goes by how often it ran
	warmSteady  = 0.95                   // of the processor time of the stretch before
	warmSerial  = -1 << 20               // the number of the first measurement, none of [Plan.Probe]'s
)

// WarmsUp reports whether servers of that kind get faster while they serve.
func WarmsUp(kind string) bool { return kind == harness.KindZooKeeper }

// WarmUp drives cases of p that are kept by the servers at at, those of near, each in a
// fresh process and as near to them as it can be, until an acquisition no longer takes
// less of the servers' processor time than before, and for so long at most. What it
// measures is thrown away. A case that gives no result, or breaks a promise, is left out.
func (p *Plan) WarmUp(ctx context.Context, near harness.Site, at harness.Endpoint, most time.Duration) (resultfile.WarmUp, error) {
	plan, known, serial := *p, calibrate(), warmSerial
	plan.Endpoints, plan.Together = map[harness.Site]harness.Endpoint{near: at}, nil
	w := warming{cases: spread(warmable(p.Cases, near), near, warmCases), begin: time.Now(), most: most}
	w.drive = func(ctx context.Context, c Case) (*harness.Result, error) {
		serial--
		return plan.measure(ctx, c, known, 0, serial)
	}
	err := w.run(ctx)
	return w.said, err
}

// WarmUp is [Plan.WarmUp] in this process, by these cases.
func WarmUp(ctx context.Context, in *Instruments, cases []Case, at harness.Endpoint, most time.Duration) (resultfile.WarmUp, error) {
	near, serial := harness.Site{Kind: at.Kind, Servers: len(at.Addrs[0])}, 0
	w := warming{cases: spread(warmable(cases, near), near, warmCases), begin: time.Now(), most: most}
	w.drive = func(ctx context.Context, c Case) (*harness.Result, error) {
		serial++
		return Measure(ctx, in, Job{Lock: c.Lock, Workload: c.Workload, At: at, Seed: 1, Key: fmt.Sprintf("warm-up-%d-%d", os.Getpid(), serial)})
	}
	err := w.run(ctx)
	return w.said, err
}

// A warming is how far servers have been warmed up.
type warming struct {
	cases []Case
	drive func(context.Context, Case) (*harness.Result, error) // measures a case
	begin time.Time
	most  time.Duration
	said  resultfile.WarmUp
}

func (w *warming) over() bool { return time.Since(w.begin) >= w.most }

// run makes stretches until they take no less than those before.
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

// stretch makes passes over the cases, and returns what an acquisition of each took.
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
		w.note(pass)
	}
	return costs, nil
}

// note takes down what acquisitions took in a pass.
func (w *warming) note(pass []float64) {
	if len(pass) == 0 {
		return
	}
	w.said.Last = stat.MidMean(pass)
	if w.said.First == 0 {
		w.said.First = w.said.Last
	}
}

// measure drives c once and returns what each of its acquisitions took, and how many there
// were: none if it is left out from now on.
func (w *warming) measure(ctx context.Context, c Case) (cost float64, ops uint64, err error) {
	res, err := w.drive(ctx, c)
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

// serverCost returns what an acquisition took of the servers' processor time in ns, or
// where they do not tell the time from one to the next.
func serverCost(r *harness.Result) float64 {
	if ns, ok := metric.ServerCPU.Of(r); ok {
		return ns
	}
	return float64(r.Elapsed) / float64(r.Ops)
}

// warmable returns those of cases that warm the servers of near up: in a closed loop,
// without delay, each once. A loop in another program has itself to warm up.
func warmable(cases []Case, near harness.Site) (out []Case) {
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

// ratioOf returns how many times as much the cases in both took in now as in before.
func ratioOf(now, before map[string][]float64) float64 {
	var ratios []float64
	for name, costs := range now {
		if was := before[name]; len(was) > 0 {
			ratios = append(ratios, stat.Median(costs)/stat.Median(was))
		}
	}
	return stat.MidMean(ratios)
}
