package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"locklab/atomics/experiment"
	"locklab/harness"
	"locklab/harness/resultfile"
	"locklab/harness/runner"
	"locklab/internal/catalog"
	"locklab/internal/machine"
)

// runOptions are the flags of "locklab run".
type runOptions struct {
	locks, workers, clients, hold, think, wait, pin, gomaxprocs, reads, spread, gc string

	rounds           int
	duration, warmup time.Duration
	budget           time.Duration
	seed             uint64
	hardware         bool
	out              string
	replace          bool
}

// The defaults of a run.
const (
	defaultLocks    = "default"
	defaultRounds   = 10
	defaultWindow   = 250 * time.Millisecond // for local locks
	remoteStretch   = 3                      // a remote turn takes longer, so its window is so much longer
	warmupShare     = 5                      // the warm-up is the window divided by this
	minWindow       = 20 * time.Millisecond
	defaultRunsRoot = "runs"
)

func runCommand() *cobra.Command {
	var o runOptions
	cmd := &cobra.Command{
		Use:   "run",
		Short: "Measure locks and write a report",
		Long: `run measures every chosen lock under every combination of the axes, in rounds:
each case once a round, each time in a fresh process, in shuffled order. It
starts the servers that remote locks need (redis-server and ZooKeeper, as child
processes on this machine), or uses yours: set LOCKLAB_REDIS or
LOCKLAB_ZOOKEEPER to host:port. Every run is also a test of the lock.

It writes results.jsonl, bench.txt (for benchstat), manifest.json and
index.html. Ctrl-C keeps what was measured and still writes the report.`,
		Example: `  locklab run                                       every lock of use, about five minutes
  locklab run --locks spin,sync-mutex --workers 1,2,4,8 --rounds 10
  locklab run --locks zk-fair,zk-herd --workers 1,8,50 --clients 1
  locklab run --locks local --hold 0,1us-exp --pin none,cpu --budget 10m`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return run(cmd.Context(), o, cmd.Flags().Changed("seed"), cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	cmd.Flags().SortFlags = false
	o.axisFlags(cmd)
	o.runFlags(cmd)
	return cmd
}

// axisFlags declares the flags that say which cases to measure.
func (o *runOptions) axisFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&o.locks, "locks", defaultLocks, "locks, families, statuses or regular expressions; a leading '-' takes away; default is one lock for each idea, those for readers and writers with 90 % reads")
	f.StringVar(&o.workers, "workers", "", "workers that contend (default 1,2,4 … 8 per processor; remote 1,2,8)")
	f.StringVar(&o.clients, "clients", "", "connections or sessions that remote workers share (default one each)")
	f.StringVar(&o.hold, "hold", "", "time inside the section: 100ns, or 100ns-exp (default 100ns; remote 0)")
	f.StringVar(&o.think, "think", "", "time between release and next request (default 0)")
	f.StringVar(&o.wait, "wait", "", "how spin locks wait: adaptive, spin, pause, yield, sched-yield, park (default adaptive)")
	f.StringVar(&o.pin, "pin", "", "workers to threads: none, thread, cpu (default none)")
	f.StringVar(&o.gomaxprocs, "gomaxprocs", "", "processors the Go scheduler uses (default: its own choice)")
	f.StringVar(&o.reads, "read", "", "turns in a hundred that only read, such as 90 (default 0)")
	f.StringVar(&o.spread, "spread", "", "locks over which the workers spread, each turn at random (default 1)")
	f.StringVar(&o.gc, "gc", "", "garbage collection in the window: off, on (default off)")
}

// runFlags declares the flags that say how a run goes.
func (o *runOptions) runFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.IntVar(&o.rounds, "rounds", defaultRounds, "how often each case is measured")
	f.DurationVar(&o.duration, "duration", 0, fmt.Sprintf("measured window of a case (default %v; remote %d times that)", defaultWindow, remoteStretch))
	f.DurationVar(&o.warmup, "warmup", 0, "driven before the window (default a fifth of it)")
	f.DurationVar(&o.budget, "budget", 0, "choose the windows so that the whole run takes about this long")
	f.Uint64Var(&o.seed, "seed", 0, "seed of the order of the cases (default random)")
	f.BoolVar(&o.hardware, "hardware", false, "also run the experiments about the hardware, half a minute, into the report")
	f.StringVarP(&o.out, "out", "o", "", "directory to write (default "+defaultRunsRoot+"/TIME)")
	f.BoolVar(&o.replace, "replace", false, "move an earlier run in that directory to DIR.previous")
}

// run measures, and writes the report of what was measured even if it was
// interrupted.
func run(ctx context.Context, o runOptions, seeded bool, stdout, stderr io.Writer) error {
	if !seeded {
		o.seed = rand.Uint64()
	}
	plan, err := o.plan()
	if err != nil {
		return err
	}
	servers, skipped, err := startServers(ctx, plan)
	if ctx.Err() != nil {
		servers.stop()
		fmt.Fprintln(stderr, "interrupted before anything was measured")
		return errInterrupted
	}
	if err != nil {
		return err
	}
	defer servers.stop()
	if err := plan.Validate(); err != nil {
		return err
	}
	for _, s := range skipped {
		fmt.Fprintf(stderr, "skipping %s: %s\n", s.Lock, s.Reason)
	}
	dir, out, err := o.create(plan, servers, skipped)
	if err != nil {
		return err
	}
	violated, err := measure(ctx, plan, out, stderr)
	if o.hardware && err == nil && ctx.Err() == nil {
		fmt.Fprintln(stderr, "what the hardware does: half a minute")
		h := hardwareRun{file: out, evidence: true}
		if err = h.runAll(ctx, experiment.Suite, io.Discard, stderr); errors.Is(err, errInterrupted) {
			err = nil
		}
	}
	interrupted := ctx.Err() != nil
	err = errors.Join(err, out.Finish(func(m *resultfile.Manifest) {
		m.Finished, m.Interrupted = time.Now().UTC(), interrupted || err != nil
	}))
	err = errors.Join(err, reportRun(stdout, dir))
	for _, v := range violated {
		fmt.Fprintln(stderr, v)
	}
	switch {
	case err != nil:
		return err
	case interrupted:
		fmt.Fprintf(stderr, "interrupted: %s holds what was measured until then\n", dir)
		return errInterrupted
	case len(violated) > 0:
		return errViolations
	}
	return nil
}

// measure runs plan into out and returns a sentence for each violation. That
// ctx ended is not an error: what was measured until then is complete.
func measure(ctx context.Context, plan *runner.Plan, out *resultfile.Writer, stderr io.Writer) (violated []string, err error) {
	show := newProgress(stderr, plan)
	defer show.close()
	err = plan.Run(ctx, func(p runner.Progress) error {
		show.update(p)
		if p.Result == nil {
			return nil
		}
		for _, v := range p.Result.Violations {
			violated = append(violated, fmt.Sprintf("%s violated %s: %s", p.Case.Name(), v.Rule, v.Detail))
		}
		return out.Append(p.Result)
	})
	if ctx.Err() != nil {
		err = nil
	}
	return violated, err
}

// reportRun writes the report of the run in dir into dir.
func reportRun(stdout io.Writer, dir string) error {
	run, err := resultfile.Load(dir)
	if err != nil {
		return err
	}
	return writeReport(stdout, run, filepath.Join(dir, reportName))
}

// plan turns the flags into a plan, without servers.
func (o runOptions) plan() (*runner.Plan, error) {
	locks, err := catalog.Select(catalog.All(), strings.Split(o.locks, ","))
	if err != nil {
		return nil, err
	}
	a, err := o.axes()
	if err != nil {
		return nil, err
	}
	for _, f := range []struct {
		name string
		d    time.Duration
	}{{"duration", o.duration}, {"warmup", o.warmup}, {"budget", o.budget}} {
		if f.d < 0 {
			return nil, fmt.Errorf("%w: --%s is %v: want more than 0", harness.ErrUsage, f.name, f.d)
		}
	}
	cases := a.cases(locks, runtime.GOMAXPROCS(0))
	if o.locks == defaultLocks {
		cases = a.defaultCases(locks, runtime.GOMAXPROCS(0))
	}
	p := &runner.Plan{Cases: cases, Rounds: o.rounds, Seed: o.seed,
		RunID: fmt.Sprintf("%x-%x", time.Now().Unix(), os.Getpid())}
	window := o.duration
	if window == 0 {
		window = defaultWindow
	}
	o.setWindows(p, window)
	if o.budget > 0 {
		if o.duration > 0 {
			return nil, fmt.Errorf("%w: give --budget or --duration, not both", harness.ErrUsage)
		}
		return p, o.fit(p)
	}
	return p, nil
}

// setWindows gives every case its windows.
func (o runOptions) setWindows(p *runner.Plan, window time.Duration) {
	for i := range p.Cases {
		w := &p.Cases[i].Workload
		w.Window = window
		if p.Cases[i].Lock.Remote != nil && o.duration == 0 {
			w.Window *= remoteStretch
		}
		w.Warmup = w.Window / warmupShare
		if o.warmup > 0 {
			w.Warmup = o.warmup
		}
	}
}

// fit chooses the windows so that p takes as long as the budget.
func (o runOptions) fit(p *runner.Plan) error {
	o.setWindows(p, minWindow)
	low := p.Estimate()
	if low > o.budget {
		return fmt.Errorf("%w: a budget of %v is too small: %d cases in %d rounds take at least %v; choose fewer locks, workers or rounds",
			harness.ErrUsage, o.budget, len(p.Cases), p.Rounds, low.Round(time.Second))
	}
	o.setWindows(p, 2*minWindow)
	perMin := p.Estimate() - low // what one more minWindow costs
	more := time.Duration(float64(minWindow) * float64(o.budget-low) / float64(perMin))
	o.setWindows(p, (minWindow + more).Truncate(time.Millisecond))
	return nil
}

func (o runOptions) axes() (a axes, err error) {
	var errs []error
	list := func(e error) { errs = append(errs, e) }
	a.workers, err = parseList("workers", o.workers, parseCount)
	list(err)
	a.clients, err = parseList("clients", o.clients, parseCount)
	list(err)
	a.hold, err = parseList("hold", o.hold, harness.ParseSpan)
	list(err)
	a.think, err = parseList("think", o.think, harness.ParseSpan)
	list(err)
	a.wait, err = parseList("wait", o.wait, parseName(harness.WaitPolicies))
	list(err)
	a.pin, err = parseList("pin", o.pin, parseName(harness.Pins))
	list(err)
	a.gomaxprocs, err = parseList("gomaxprocs", o.gomaxprocs, parseCount)
	list(err)
	a.reads, err = parseList("read", o.reads, parsePercent)
	list(err)
	a.spread, err = parseList("spread", o.spread, parseCount)
	list(err)
	a.gc, err = parseList("gc", o.gc, parseSwitch)
	list(err)
	return a, errors.Join(errs...)
}

// create starts the run on disk.
func (o runOptions) create(p *runner.Plan, s *servers, skipped []resultfile.Skip) (string, *resultfile.Writer, error) {
	now := time.Now().UTC()
	dir := o.out
	if dir == "" {
		dir = filepath.Join(defaultRunsRoot, now.Format("20060102T150405Z"))
	}
	if o.replace {
		if err := moveAside(dir); err != nil {
			return "", nil, err
		}
	}
	env := machine.Capture()
	versions := machine.Modules()
	for kind, v := range s.versions() {
		versions[kind] = v
	}
	out, err := resultfile.Create(dir, resultfile.Manifest{
		Command: append([]string{"locklab"}, os.Args[1:]...), Commit: machine.BuildCommit(), Seed: o.seed,
		Rounds: p.Rounds, Cases: len(p.Cases), Started: now, Machine: env, Overhead: runner.Calibrate().Overhead(), Versions: versions,
		Skipped: skipped, Warnings: env.Warnings(),
	})
	return dir, out, err
}

// moveAside makes room for a run in dir: an earlier one becomes DIR.previous.
func moveAside(dir string) error {
	if !resultfile.Exists(dir) {
		return nil
	}
	previous := dir + ".previous"
	if err := errors.Join(os.RemoveAll(previous), os.Rename(dir, previous)); err != nil {
		return fmt.Errorf("%w: cannot move the earlier run aside: %v", harness.ErrUsage, err)
	}
	return nil
}
