package lab

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"locklab/hardware"
	"locklab/harness"
	"locklab/harness/judge"
	"locklab/harness/measure"
	"locklab/harness/result"
	"locklab/internal/site"
)

type runOptions struct {
	program *Program

	locks string
	axes
	rankFlags
	course

	store
	guarantees guarding

	begin   time.Time         // of the command
	plain   bool              // no open loops, and no servers to set up, that the user does not ask for
	chosen  map[string]string // flags of the plan, as given: see chosen
	command []string          // of the run that this is a rank of; nil is this one's

	saturations []result.Saturation // the basis of the chosen rates
}

// A course is the flags of the rounds and windows of a run.
type course struct {
	rounds                   int
	duration, warmup, budget time.Duration
	seed                     uint64
	quick                    bool
	brief                    bool // only the least and the greatest contention, without readers
	hardware, chaos          bool // also run experiments, try failure scenarios
}

const (
	defaultLocks    = "default"
	defaultRounds   = 8
	defaultWindow   = 250 * time.Millisecond // for local locks
	remoteStretch   = 3                      // factor for the longer window of remote locks
	warmupShare     = 10                     // the warm-up is the window divided by this
	defaultRunsRoot = "runs"
)

const runHelp = `run measures every chosen lock under every combination of the axes, in rounds: each case
once a round, in shuffled order and fresh processes. The locks of one workload share a
process, in which they alternate in short blocks. Every run also tests the locks.
It starts the servers that distributed locks need (redis-server and ZooKeeper, as child
processes), or uses yours: set LOCKLAB_REDIS or LOCKLAB_ZOOKEEPER to host:port.

Without flags it takes two minutes: one lock for each idea, with the least and the greatest
contention. --quick takes twenty seconds. With --budget, --rounds or other locks the default
choice has more numbers of workers, readers, long holds and open loops; --locks all also has
durable servers far away. A flag of the workload or the servers replaces these conditions.
--servers, --durable, --tls and --delay are axes of the servers that the run starts.

It writes results.jsonl, bench.txt (for benchstat), wait.hlog and handover.hlog (for the
tools of HdrHistogram), manifest.json, and the report as index.html, details.html and
report.md with its charts. Ctrl-C keeps the results and still writes the report;
--resume --out DIR continues the run with its flags, also after a crash or a full disk.

With --rate the loop is open: acquisitions are requested at times drawn in advance, and waits
count from these times, so that a stall delays all later ones. --workers limits those under
way. --rate auto first finds the saturation point of each lock: the load at which it falls
behind, or p99 of the waits exceeds ten times the p99 without load. It measures at 0.1,
0.25, 0.5, 0.75, 0.9, 1 and 1.1 times that load, and needs no --workers.

With --ranks several processes share the workers of each case. --spawn starts them all
here, and merges their parts. On many hosts start each with the same flags. --sync, or
LOCKLAB_SYNC for a URL with a password, names the Redis server where they meet. --rank and
--ranks are read from Slurm, Open MPI or a Kubernetes Indexed Job. If a rank dies the
others keep their results and stop, with status 3. Ranks cannot resume: 'locklab merge'
makes one run of the rounds that all ranks kept.

--budget takes as many rounds as fit, up to 50, with windows of 100ms. If fewer than 8
fit, the windows become shorter, down to 20ms, and then the rounds fewer, down to 6. If 50
rounds leave time, the windows become longer, up to 1s. With --rounds or --duration
it chooses the other. --hardware and --chaos add their time.`

const runExamples = `  locklab run                                       one lock for each idea, two minutes
  locklab run --quick                               which local lock? twenty seconds
  locklab run --locks spin,-broken,sync-mutex --workers 1,2,4,8 --rounds 10
  locklab run --locks zk-fair,zk-herd --workers 1,8,50 --clients 1
  locklab run --locks local --hold 0,1us-exp --pin none,cpu --budget 10m
  locklab run --locks mcs,sync-mutex --section work,lines:16,map,lru,log
  locklab run --locks redis-queue --workers 64 --rate closed,500/s,1k/s,2k/s
  locklab run --locks sync-mutex,mcs --rate closed,auto    finds the saturation point of each
  locklab run --locks redis-queue,zk-handoff --ranks 4 --spawn
  locklab run --out DIR --resume                    continue an interrupted run`

func (p *Program) runCommand() *cobra.Command {
	o := runOptions{program: p}
	cmd := &cobra.Command{
		Use:     "run",
		Short:   "Measure locks and write a report",
		Long:    runHelp,
		Example: runExamples,
		RunE: func(cmd *cobra.Command, _ []string) error {
			o.begin = time.Now()
			err := o.resolve(cmd.Flags())
			switch err = errors.Join(err, o.checkRanks(), o.check()); {
			case err != nil:
				return err
			case o.spawn:
				return o.runSpawned(cmd.Context(), cmd.Flags(), cmd.OutOrStdout(), cmd.ErrOrStderr())
			case o.Ranks > 1:
				return o.runRank(cmd.Context(), cmd.Flags(), cmd.ErrOrStderr())
			}
			return o.run(cmd.Context(), cmd.Flags(), cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	o.axisFlags(cmd)
	o.rankFlags.declare(cmd)
	o.runFlags(cmd)
	return cmd
}

func (o *runOptions) run(ctx context.Context, flags *pflag.FlagSet, stdout, stderr io.Writer) error {
	plan, servers, skipped, err := o.ready(ctx, flags, stderr)
	defer servers.Stop()
	if err != nil {
		return err
	}
	dir, out, earlier, err := o.open(plan, servers, skipped)
	if err != nil {
		return err
	}
	if err := o.seek(ctx, plan, dir, out, stderr); err != nil {
		return err
	}
	for _, text := range append(o.unheeded(plan), o.unconditioned(plan), tooFewRounds(plan)) {
		if text != "" {
			fmt.Fprintln(stderr, text)
		}
	}
	m := o.measuring(plan, out, stderr)
	m.later, m.violated = o.later(plan), brokenSought(o.saturations)
	err = m.run(ctx, earlier)
	if o.hardware && err == nil && ctx.Err() == nil {
		fmt.Fprintln(stderr, "hardware experiments: ten seconds")
		h := hardwareRun{program: o.program, options: hardware.Options{Repeats: 3, Budget: quickExperiment}, store: store{file: out}, earlier: earlier, evidence: true,
			later: m.later - experimentsTime()}
		if err = h.runAll(ctx, hardware.Suite, io.Discard, stderr); errors.Is(err, errInterrupted) {
			err = nil
		}
	}
	if o.chaos && err == nil && ctx.Err() == nil {
		err = o.tryFailures(ctx, &m, dir, earlier)
	}
	return m.finish(ctx, err, dir, stdout)
}

// ready turns the flags into a plan with running servers. The caller must stop them, also
// after an error.
func (o *runOptions) ready(ctx context.Context, flags *pflag.FlagSet, stderr io.Writer) (*measure.Plan, *site.Servers, []result.Skip, error) {
	plan, err := o.prepare(flags)
	if err == nil && o.Ranks > 1 && !o.spawn {
		err = sharedServers(plan)
	}
	if err == nil {
		err = o.guarantees.compares(result.Each(plan.Locks(), result.Describe))
	}
	if err != nil {
		return nil, nil, nil, err
	}
	show, warm := o.preparing(plan, stderr)
	defer show.clear()
	s, skipped, err := site.Start(ctx, plan, warm, show)
	if ctx.Err() == nil && err == nil {
		s.DryRun(ctx, plan, show)
		err = o.settle(plan)
	}
	if err = unbegun(ctx, err, show); err != nil {
		return nil, s, nil, err
	}
	printSkipped(show, skipped)
	return plan, s, skipped, nil
}

const quickExperiment = time.Second // the time that a run gives to an experiment of the hardware

func experimentsTime() time.Duration {
	return experimentTime(quickExperiment) * time.Duration(len(hardware.Suite))
}

// later returns about the time of the parts of the run after p.
func (o *runOptions) later(p *measure.Plan) time.Duration {
	d := reportTime
	if o.hardware {
		d += experimentsTime()
	}
	if o.chaos && len(p.Needs()) > 0 {
		d += shortBudget
	}
	return d
}

// preparing shows the start of the servers of p, if it needs any, and the time of the whole run. It
// returns the time to warm them up.
func (o *runOptions) preparing(p *measure.Plan, stderr io.Writer) (show *progress, warm time.Duration) {
	warm = site.WarmTime(cmp.Or(o.budget, p.Estimate()))
	first := site.Preparation(p, warm)
	rest := o.later(p) + cmp.Or(max(0, o.budget-reportTime-first), p.Estimate())
	show = o.program.newProgress(stderr, rest)
	if first > 0 && !o.resume {
		fmt.Fprintf(show, "about %v in all\n", (first + rest).Round(time.Second))
		show.written = time.Now()
		show.show(step{total: p.Total(), name: "servers and their warm-up", left: first})
	}
	return show, warm
}

func unbegun(ctx context.Context, err error, stderr io.Writer) error {
	if ctx.Err() == nil {
		return err
	}
	fmt.Fprintln(stderr, "interrupted before anything was measured")
	return errInterrupted
}

func printSkipped(stderr io.Writer, skipped []result.Skip) {
	for _, s := range skipped {
		fmt.Fprintf(stderr, "skipping %s: %s\n", s.Name(), s.Reason)
	}
}

func (o *runOptions) tryFailures(ctx context.Context, m *measuring, dir string, earlier *result.Run) error {
	c := chaosRun{program: o.program, short: true, seed: o.seed, store: store{out: dir, file: m.out}, later: reportTime}
	remote := filter(m.plan.Locks(), func(v *harness.Variant) bool { return v.Remote != nil })
	if c.locks = result.Each(remote, func(v *harness.Variant) string { return v.Name }); len(remote) == 0 {
		return nil
	}
	fmt.Fprintln(m.stderr, "failure scenarios: half a minute")
	if earlier != nil {
		c.goOn(earlier)
	}
	plan, err := c.plan()
	if err == nil {
		err = c.try(ctx, plan, m.stderr)
	}
	m.violated = append(m.violated, c.unexpected()...)
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// prepare returns a new plan, or the plan of the run to resume, without servers.
func (o *runOptions) prepare(flags *pflag.FlagSet) (*measure.Plan, error) {
	if o.resume {
		return o.resumed(flags)
	}
	if !flags.Changed("seed") {
		o.seed = rand.Uint64()
	}
	o.chosen = chosen(flags, o.seed)
	o.setBrief()
	return o.plan()
}

func reportRun(stdout io.Writer, dir string, guarantees guarding) error {
	beThrifty()
	run, err := result.Load(dir)
	if err == nil {
		err = guarantees.apply(run)
	}
	if err != nil {
		return err
	}
	return writeReport(stdout, new(saver), run, dir)
}

func (o runOptions) plan() (*measure.Plan, error) {
	locks, err := o.program.choose(strings.Split(o.locks, ","))
	if err != nil {
		return nil, err
	}
	if o.quick && o.locks == defaultLocks {
		if locks = sleepers(locks); len(locks) == 0 {
			return nil, usage("--quick measures local locks whose waiters sleep, and there is none: name others by --locks")
		}
	}
	a := o.axes
	a.processes = max(1, o.Ranks)
	if err := a.checkFor(o.program.Name, locks, o.chaos || o.guarantees.require != nil); err != nil {
		return nil, err
	}
	few, whole := o.whole()
	switch {
	case o.brief:
		a.scope = briefWorkers
	case few:
		a.scope = fewWorkers
	}
	if whole && o.Ranks > 1 { // locks inside a process are excluded
		locks = filter(locks, func(v *harness.Variant) bool { return v.Remote != nil })
	}
	cpus := runtime.GOMAXPROCS(0)
	cases := a.cases(locks, cpus)
	if whole {
		cases = append(a.defaultCases(locks, cpus), o.conditionCases(locks, cpus, few)...)
	}
	p := &measure.Plan{Cases: cases, Seed: o.seed,
		RunID: fmt.Sprintf("%x-%x", time.Now().Unix(), os.Getpid())}
	p.Every.Open = o.openEvery()
	p.Race.Reference = func(l result.Lock) bool {
		return l.Family == harness.Peer || slices.Contains([]string{judge.DefaultBaseline, judge.DefaultOfReaders, o.guarantees.baseline}, l.Name)
	}
	p.Rounds = cmp.Or(o.rounds, defaultRounds)
	o.setWindows(p, cmp.Or(o.duration, defaultWindow))
	if o.budget == 0 || len(cases) == 0 {
		return p, nil
	}
	if err := o.fit(p, o.budget-reportTime); err != nil && (!o.brief || o.budget <= reportTime) {
		return nil, err
	}
	if o.quick && p.Estimate() > o.budget {
		o.fitRounds(p, o.budget-reportTime, minWindow, 1)
		p.Budget, p.Least, p.Most = o.budget-reportTime, 1, p.Rounds
	}
	return p, nil // at least the least plan
}
