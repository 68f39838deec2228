package lab

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
	"text/tabwriter"

	"locklab/harness"
	"locklab/harness/result"
	"locklab/harness/simulate"
	"locklab/internal/machine"
	"locklab/internal/numfmt"
	"locklab/internal/stat"
)

// A herePoint is a lock's measurements at a number of workers here, and its simulation.
type herePoint struct {
	simulatedCase
	ns        []float64           // per acquisition, of each round with an acquisition
	simulated *harness.Simulation // nil if it failed
}

func (p *herePoint) fitted() bool {
	return slices.Contains(fitLocks, p.lock.Name) && p.workload.Workers > 1 && len(p.ns) > 0
}

// A here compares the model's predictions with measurements on this machine.
type here struct {
	simulateOptions
	stdout, stderr io.Writer

	model  *simulate.Machine
	keep   *keptSimulations
	points []*herePoint
}

// compareHere fits m to the points of a run, simulates them and prints both figures.
func (o simulateOptions) compareHere(ctx context.Context, m *simulate.Machine, cases []simulatedCase, stdout, stderr io.Writer) error {
	h := &here{simulateOptions: o, stdout: stdout, stderr: stderr, model: m}
	if err := h.read(cases); err != nil {
		return err
	}
	var err error
	if h.keep, err = o.open(); err != nil {
		return err
	}
	err = h.compare(ctx)
	interrupted := ctx.Err() != nil
	if cerr := h.keep.close(stdout, err != nil); !interrupted || cerr != nil {
		err = errors.Join(err, cerr)
	}
	if interrupted {
		fmt.Fprintln(stderr, "interrupted")
		return errInterrupted
	}
	return err
}

func (h *here) read(cases []simulatedCase) error {
	run, err := result.Load(h.simulateOptions.points)
	if err != nil {
		return err
	}
	if ds := run.Manifest.Machine.Unlike(machine.Capture(), true); len(ds) > 0 {
		return fmt.Errorf("%w: the run in %s was measured on another machine: %s, this is %s", harness.ErrUsage, h.simulateOptions.points, ds[0].Name+" "+ds[0].A, ds[0].B)
	}
	locks := h.program.fitLocks()
	for _, c := range cases {
		locks = append(locks, c.lock)
	}
	points := make(map[string]*herePoint)
	for _, r := range run.Results {
		i := slices.IndexFunc(locks, func(v *harness.Variant) bool { return v.Name == r.Lock.Name })
		w, ok := modelOf(r.Workload)
		rate, measured := result.Throughput.Of(r)
		measured = measured && rate > 0
		if i < 0 || !ok || !measured && h.into != "" || len(r.Violations) > 0 || w.Validate(h.model) != nil {
			continue
		}
		name := r.Lock.Name + r.Workload.Name()
		p := points[name]
		if p == nil {
			if w.Seed = h.seed; h.into == "" {
				w.Apart, w.Spread = cases[0].workload.Apart, cases[0].workload.Spread
			}
			p = &herePoint{simulatedCase: simulatedCase{lock: locks[i], seeds: h.seeds, workload: w}}
			points[name], h.points = p, append(h.points, p)
		}
		if measured {
			p.ns = append(p.ns, 1e9/rate)
		}
	}
	if len(h.points) == 0 {
		return fmt.Errorf("%w: the run in %s has measured none of these locks with at most %d workers", harness.ErrUsage, h.simulateOptions.points, h.model.Threads())
	}
	slices.SortStableFunc(h.points, func(a, b *herePoint) int { // as the cases
		x, y := a.workload, b.workload
		return cmp.Or(cmp.Compare(x.Lines, y.Lines), cmp.Compare(x.Hold, y.Hold), cmp.Compare(x.Think, y.Think), cmp.Compare(x.Workers, y.Workers),
			cmp.Compare(slices.Index(h.program.Locks, a.lock), slices.Index(h.program.Locks, b.lock)))
	})
	return nil
}

func (h *here) compare(ctx context.Context) error {
	if err := h.fit(ctx); err != nil {
		return err
	}
	if err := h.keep.machine(h.model); err != nil {
		return err
	}
	all, err := h.simulateOn(ctx, "simulate", h.seeds, h.points, h.model)
	h.points = all[0]
	return errors.Join(err, h.judge())
}

// simulateOn returns copies of the points, simulated on each machine unless ctx ends.
func (h *here) simulateOn(ctx context.Context, what string, seeds int, points []*herePoint, machines ...*simulate.Machine) ([][]*herePoint, error) {
	var cases []simulatedCase
	var all []*herePoint
	for _, m := range machines {
		for _, p := range points {
			q := *p
			c := q.on(m)
			c.seeds = seeds
			cases, all = append(cases, c), append(all, &q)
		}
	}
	_, err := runCases(ctx, h.stderr, what, cases, func(i int, s *harness.Simulation) error {
		s.SMT = h.model.SMT
		all[i].simulated = s
		return nil
	})
	return slices.Collect(slices.Chunk(all, len(points))), err
}

// on returns p's case on m: workers occupy one thread of each core first.
func (p *herePoint) on(m *simulate.Machine) simulatedCase {
	c := p.simulatedCase
	if c.machine = m; c.workload.Workers <= m.Caches() {
		single := *m
		single.SMT = 1
		c.machine = &single
	}
	return c
}

func (h *here) fit(ctx context.Context) error {
	of := slices.DeleteFunc(slices.Clone(h.points), func(p *herePoint) bool { return !p.fitted() })
	if len(of) == 0 {
		h.model.Sources["window"] = "guess: this program has none of the locks to fit by: " + strings.Join(fitLocks, ", ")
		h.model.Sources["occupy"] = h.model.Sources["window"]
		return nil
	}
	machines := grid(h.model)
	all, err := h.simulateOn(ctx, "fit", 1, of, machines...)
	if err != nil {
		return err
	}
	best, least := h.model, math.Inf(1)
	for i, points := range all {
		if off, _ := factor(points); off < least {
			best, least = machines[i], off
		}
	}
	sources := maps.Clone(h.model.Sources)
	sources["window"] = fmt.Sprintf("measured here: fitted to %s of %s with two workers and more, typical factor %.2f", numfmt.Plural(len(of), "point"), strings.Join(fitLocks, " and "), least)
	sources["occupy"] = sources["window"]
	best.Sources = sources
	h.model = best
	return nil
}

// factor returns the typical factor between simulations and measurements, the root mean square
// of its logarithm, over n points; infinite without any.
func factor(points []*herePoint) (typical float64, n int) {
	sum := 0.0
	for _, p := range points {
		if p.simulated != nil && len(p.ns) > 0 {
			d := math.Log(p.simulated.PerAcquisition.Median / stat.Median(p.ns))
			sum += d * d
			n++
		}
	}
	if n == 0 {
		return math.Inf(1), 0
	}
	return math.Exp(math.Sqrt(sum / float64(n))), n
}

func (h *here) factorOf(of func(*herePoint) bool) (typical float64, n int) {
	return factor(slices.DeleteFunc(slices.Clone(h.points), func(p *herePoint) bool { return !of(p) }))
}

func (h *here) judge() error {
	for _, p := range h.points {
		if p.simulated == nil {
			continue
		}
		p.simulated.Accuracy = h.off(p)
		if err := h.keep.add(p.simulated); err != nil {
			return err
		}
	}
	m := h.model
	fmt.Fprintf(h.stdout, "%s: %s, %s\n", label(m), m.Doc, size(m))
	fmt.Fprintf(h.stdout, "a word from one core to another: %s ns in a cluster, %s in the socket, %s to another one; window %s, occupy %s ns: %s\n\n",
		numfmt.Number(m.Transfer[1]), numfmt.Number(m.Transfer[2]), numfmt.Number(m.Transfer[3]), numfmt.Number(m.Window), numfmt.Number(m.Occupy), m.Sources["window"])
	if err := h.writeTable(); err != nil {
		return err
	}
	fmt.Fprintln(h.stdout, "\n"+h.summary())
	for _, why := range h.disturbed {
		fmt.Fprintln(h.stdout, "disturbed: "+why)
	}
	if len(h.disturbed) > 0 {
		fmt.Fprintln(h.stdout, "this machine was too busy to describe it well: repeat the command when nothing else runs")
	}
	return nil
}

func (h *here) writeTable() error {
	w := tabwriter.NewWriter(h.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "LOCK\tWORKERS\tHOLD\tSIMULATED NS/ACQ\tMEASURED NS/ACQ\tROUNDS\tSIMULATED / MEASURED\t")
	for _, p := range h.points {
		s := p.simulated
		if s == nil || len(p.ns) == 0 {
			continue
		}
		note := ""
		if p.fitted() {
			note = "fitted to"
		}
		m := stat.Median(p.ns)
		fmt.Fprintf(w, "%s\t%d\t%s\t%s\t%s\t%s to %s\t%.2f\t%s\n", s.Lock.Name, s.Workers, numfmt.Plain(numfmt.Nanos(s.Hold)), numfmt.Number(s.PerAcquisition.Median), numfmt.Number(m),
			numfmt.Number(slices.Min(p.ns)), numfmt.Number(slices.Max(p.ns)), s.PerAcquisition.Median/m, note)
	}
	return w.Flush()
}

func (h *here) summary() string {
	typical, n := h.factorOf(func(p *herePoint) bool { return p.workload.Workers > 1 && !p.fitted() })
	if n == 0 {
		return "no lock that the model is not fitted to was simulated and measured with two workers or more"
	}
	return fmt.Sprintf("locks that the model is not fitted to, two workers and more: typical factor %.2f over %s", typical, numfmt.Plural(n, "point"))
}

func (h *here) off(p *herePoint) string {
	typical, n := h.factorOf(func(q *herePoint) bool { return q.lock == p.lock })
	if n == 0 {
		return "This lock was not measured here."
	}
	text := fmt.Sprintf("On this machine the model was off by a typical factor of %.2f for this lock, over %s.", typical, numfmt.Plural(n, "point"))
	if p.fitted() {
		text += " It is fitted to them."
	}
	return text
}
