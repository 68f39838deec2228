package lab

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"locklab/hardware"
	"locklab/harness"
	"locklab/harness/measure"
	"locklab/harness/result"
	"locklab/harness/simulate"
	"locklab/internal/machine"
	"locklab/internal/numfmt"
	"locklab/internal/stat"
	"locklab/internal/table"
)

// The length of the measurements for comparison with simulations: a few seconds in total.
const (
	hereRounds = 3
	hereWindow = 40 * time.Millisecond
	hereWarmup = 10 * time.Millisecond
	hereBudget = 2 * time.Second // of an experiment
)

// fitLocks are the locks to fit the model of this machine to, if the program has them.
var fitLocks = []string{"tas", "ticket"}

// A herePoint is a lock's measurements at a number of workers here, and its simulation.
type herePoint struct {
	simulatedCase
	ns        []float64           // per acquisition, of each round with an acquisition
	simulated *harness.Simulation // nil if it failed
}

func (p *herePoint) fitted() bool {
	return slices.Contains(fitLocks, p.lock.Name) && p.workload.Workers > 1
}

// A here compares the model's predictions with measurements on this machine.
type here struct {
	simulateOptions
	*simulator
	stdout, stderr io.Writer

	model            *simulate.Machine
	keep             *keptSimulations
	points           []*herePoint
	measured, uneasy int // experiments and measurements of locks, and how many were disturbed
}

// run measures this machine and some locks. It fits the model to the measurements, simulates
// the same cases and prints both figures.
func (h *here) run(ctx context.Context, cases []simulatedCase) error {
	hops, err := h.find(ctx, "core-to-core")
	if err != nil {
		return err
	}
	cost, err := h.find(ctx, "cost")
	if err != nil {
		return err
	}
	if err := describe(h.model, machine.ReadTopology(), hops, cost); err != nil {
		return err
	}
	if err := h.measure(ctx, cases); err != nil {
		return err
	}
	if err := h.fit(ctx); err != nil {
		return err
	}
	if err := h.keep.machine(h.model); err != nil {
		return err
	}
	if err := h.simulatePoints(ctx, "simulate", h.seeds, h.points); err != nil {
		return err
	}
	for _, p := range h.points {
		if p.simulated != nil {
			p.simulated.Accuracy = h.accuracy(p)
			if err := h.keep.add(p.simulated); err != nil {
				return err
			}
		}
	}
	return h.print()
}

// find returns the finding of a new experiment.
func (h *here) find(ctx context.Context, name string) (*harness.Finding, error) {
	e := hardware.Suite[slices.IndexFunc(hardware.Suite, func(e *hardware.Experiment) bool { return e.Name == name })]
	show := newProgress(h.stderr)
	f, err := hardware.Run(ctx, e, hardware.Options{Budget: hereBudget, Seed: h.seed, Progress: show.parts(name)})
	show.clear()
	if err != nil {
		return nil, err
	}
	h.count(f.Warnings)
	if h.keep != nil {
		err = h.keep.new.AppendFinding(f)
	}
	return f, err
}

func (h *here) count(ws []harness.Warning) {
	if h.measured++; len(ws) > 0 {
		h.uneasy++
	}
}

// measure measures the cases, and the fit locks with their workloads.
func (h *here) measure(ctx context.Context, cases []simulatedCase) error {
	plan := &measure.Plan{Rounds: hereRounds, Seed: h.seed}
	points := make(map[string]*herePoint)
	fitting := slices.DeleteFunc(h.program.spinLocks(), func(v *harness.Variant) bool { return !slices.Contains(fitLocks, v.Name) })
	for _, s := range cases {
		locks := []*harness.Variant{s.lock}
		if s.workload.Workers > 1 {
			locks = append(locks, fitting...)
		}
		for _, s.lock = range locks {
			c, err := s.measured()
			if err != nil {
				return err
			}
			if points[c.Name()] == nil {
				points[c.Name()] = &herePoint{simulatedCase: s}
				h.points = append(h.points, points[c.Name()])
				plan.Cases = append(plan.Cases, c)
			}
		}
	}
	show := newProgress(h.stderr)
	defer show.clear()
	err := plan.Run(ctx, func(p measure.Progress) error {
		show.update(p)
		if p.Result == nil {
			return nil
		}
		h.count(p.Result.Warnings)
		if rate, ok := result.Throughput.Of(p.Result); ok && rate > 0 && len(p.Result.Violations) == 0 {
			points[p.Case.Name()].ns = append(points[p.Case.Name()].ns, 1e9/rate)
		}
		if h.keep == nil {
			return nil
		}
		return h.keep.new.Append(p.Result)
	})
	h.points = slices.DeleteFunc(h.points, func(p *herePoint) bool { return len(p.ns) == 0 })
	return err
}

func (c simulatedCase) measured() (measure.Case, error) {
	w := harness.Workload{Workers: c.workload.Workers, Pin: harness.PinCPU, Window: hereWindow, Warmup: hereWarmup,
		Hold: harness.Span{Mean: time.Duration(c.workload.Hold)}, Think: harness.Span{Mean: time.Duration(c.workload.Think)}}
	if c.lock.Traits.FollowsWait {
		w.Wait = c.workload.Wait
	}
	var err error
	if c.workload.Lines > 0 {
		w.Section, err = harness.ParseSection("lines:" + strconv.Itoa(c.workload.Lines))
	}
	return measure.Case{Lock: c.lock, Workload: w}, err
}

// simulatePoints simulates points on the model.
func (h *here) simulatePoints(ctx context.Context, what string, seeds int, points []*herePoint) error {
	var cases []simulatedCase
	for _, p := range points {
		p.seeds, p.simulated = seeds, nil
		cases = append(cases, p.simulatedCase)
	}
	_, err := h.runCases(ctx, h.stderr, what, cases, func(i int, s *harness.Simulation) error {
		points[i].simulated = s
		return nil
	})
	return cmp.Or(err, ctx.Err())
}

// fit sets the numbers of the model that no experiment measures.
func (h *here) fit(ctx context.Context) error {
	points := slices.DeleteFunc(slices.Clone(h.points), func(p *herePoint) bool { return !p.fitted() })
	source := "guess: this program has none of the locks to fit by: " + strings.Join(fitLocks, ", ")
	if len(points) > 0 {
		least, err := simulate.Nearest(h.model, simulate.Unmeasured, func() (float64, error) {
			err := h.simulatePoints(ctx, "fit", 1, points)
			return factor(points), err
		})
		if err != nil {
			return err
		}
		source = fmt.Sprintf("measured here: fitted to %s of %s with two workers and more, typical factor %.2f", numfmt.Plural(len(points), "point"), strings.Join(fitLocks, " and "), least)
	}
	for _, n := range simulate.Unmeasured {
		h.model.Sources[n.Name] = source
	}
	return nil
}

// factor returns the typical factor between simulations and measurements, the root mean square
// of its logarithm; infinite without any.
func factor(points []*herePoint) float64 {
	sum, n := 0.0, 0.0
	for _, p := range points {
		if p.simulated != nil {
			d := math.Log(p.simulated.PerAcquisition.Median / stat.Median(p.ns))
			sum, n = sum+d*d, n+1
		}
	}
	if n == 0 {
		return math.Inf(1)
	}
	return math.Exp(math.Sqrt(sum / n))
}

// factorOf returns the factor of the simulated points that are wanted, and their number.
func (h *here) factorOf(wanted func(*herePoint) bool) (typical float64, n int) {
	points := slices.DeleteFunc(slices.Clone(h.points), func(p *herePoint) bool { return p.simulated == nil || !wanted(p) })
	return factor(points), len(points)
}

func (h *here) accuracy(p *herePoint) string {
	typical, n := h.factorOf(func(q *herePoint) bool { return q.lock == p.lock })
	text := fmt.Sprintf("On this machine the model was off by a typical factor of %.2f for this lock, over %s.", typical, numfmt.Plural(n, "point"))
	if p.fitted() {
		text += " It is fitted to them."
	}
	return text
}

func (h *here) print() error {
	m := h.model
	fmt.Fprintf(h.stdout, "%s: %s, %s\n", label(m), m.Doc, size(m))
	fmt.Fprintf(h.stdout, "a word from one core to another: %s ns in a cluster, %s in the socket, %s to another one; window %s, occupy %s ns: %s\n\n",
		numfmt.Number(m.Transfer[1]), numfmt.Number(m.Transfer[2]), numfmt.Number(m.Transfer[3]), numfmt.Number(m.Window), numfmt.Number(m.Occupy), m.Sources["window"])
	t := table.New(h.stdout, "LOCK", "WORKERS", "HOLD", "SIMULATED NS/ACQ", "MEASURED NS/ACQ", "ROUNDS", "SIMULATED / MEASURED", "")
	for _, p := range h.points {
		if s := p.simulated; s != nil {
			note, measured := "", stat.Median(p.ns)
			if p.fitted() {
				note = "fitted to"
			}
			t.Row(s.Lock.Name, s.Workers, numfmt.Plain(numfmt.Nanos(s.Hold)), numfmt.Number(s.PerAcquisition.Median), numfmt.Number(measured),
				numfmt.Number(slices.Min(p.ns))+" to "+numfmt.Number(slices.Max(p.ns)), fmt.Sprintf("%.2f", s.PerAcquisition.Median/measured), note)
		}
	}
	if err := t.Flush(); err != nil {
		return err
	}
	typical, n := h.factorOf(func(p *herePoint) bool { return p.workload.Workers > 1 && !p.fitted() })
	text := fmt.Sprintf("locks that the model is not fitted to, two workers and more: typical factor %.2f over %s", typical, numfmt.Plural(n, "point"))
	if n == 0 {
		text = "no lock that the model is not fitted to was simulated and measured with two workers or more"
	}
	fmt.Fprintln(h.stdout, "\n"+text)
	if h.uneasy > h.measured/4 {
		fmt.Fprintf(h.stdout, "%d of %d measurements were disturbed: repeat the command when nothing else runs\n", h.uneasy, h.measured)
	}
	return nil
}
