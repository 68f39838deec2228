package measure

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"slices"
	"sync/atomic"
	"time"

	"locklab/harness"
	"locklab/harness/result"
	"locklab/internal/machine"
)

// Instruments are the calibrations of a process before it measures.
type Instruments struct {
	Clock    machine.Clock
	Work     machine.Work
	Topology machine.Topology
	Start    machine.Conditions // of the run

	spare atomic.Pointer[[]*tally] // of an earlier drive: new memory for 16 workers takes 3 ms
}

// Calibrate measures the clock and the cost of work, in some tens of milliseconds.
func Calibrate() *Instruments { return calibrate().instruments() }

// A calibration is shared by all measuring processes of a run; the first makes it.
type calibration struct {
	Clock    machine.Clock
	Topology machine.Topology
	Start    machine.Conditions
}

func calibrate() calibration {
	return calibration{Clock: machine.Calibrate(), Topology: machine.ReadTopology(), Start: machine.ReadConditions()}
}

// instruments adds the calibrations of each process: a processor's speed changes.
func (s calibration) instruments() *Instruments {
	return &Instruments{Clock: s.Clock, Work: machine.CalibrateWork(s.Clock), Topology: s.Topology, Start: s.Start}
}

// A Job is one lock under one workload.
type Job struct {
	Lock     *harness.Variant
	Workload harness.Workload
	At       harness.Endpoint // of the servers, for remote locks
	Key      string           // names the lock on the servers
	Seed     uint64           // of the workers' random spans

	// Patience is the time for workers to return after a drive, on top of their holds; 0 is 10
	// s. Only time in which they could progress counts: see [machine.Served].
	Patience time.Duration

	together *checkpoints // with other ranks; nil if this process has the case alone
	first    int          // the number of its first worker among all ranks

	ready  func()                                 // called before the first request of a lock, if that point exists; may be nil
	served func(step time.Duration) time.Duration // replaces countServed; may be nil
}

func (j *Job) patience() time.Duration { return cmp.Or(j.Patience, 10*time.Second) }

// A Rig is a lock set up for one workload, used by one goroutine. Each drive tunes the next.
type Rig struct {
	in     *Instruments
	job    Job
	loop   loop
	cpus   []int // by worker, if they are bound
	pinErr atomic.Pointer[error]
	undo   func()
	rate   float64 // acquisitions per ns in the last drive; 0 without any
	dead   bool    // workers are stuck in it
	drives uint64  // number of drives with this rig

	servers *serverMeter // of the next drive
}

// A loop uses the lock with the rig's workers.
type loop interface {
	drive(ctx context.Context, d *drive) *result.Result
	close() error
}

// Open sets up the lock and its workers. It wraps harness.ErrUsage if that is impossible.
func Open(ctx context.Context, in *Instruments, job Job) (*Rig, error) {
	w := job.Workload
	if err := w.Validate(); err != nil {
		return nil, err
	}
	if err := fits(job.Lock, w); err != nil {
		return nil, err
	}
	r := &Rig{in: in, job: job, undo: func() {}, servers: newUnknownMeter()}
	procs := w.GOMAXPROCS
	if w.Pin != harness.PinNone {
		r.cpus = in.Topology.CPUs()
		if procs == 0 {
			// Workers own their threads; one more for the coordinator.
			procs = w.Workers + 1
		}
	}
	if procs > 0 {
		before := runtime.GOMAXPROCS(procs)
		r.undo = func() { runtime.GOMAXPROCS(before) }
	}
	var err error
	if w.Garbage {
		stop, percent := allocatorLoad(), debug.SetGCPercent(garbagePercent)
		undo := r.undo
		r.undo = func() { stop(); debug.SetGCPercent(percent); undo() }
	}
	if r.loop, err = r.newLoop(ctx); err != nil {
		r.undo()
		return nil, err
	}
	return r, nil
}

func (r *Rig) newLoop(ctx context.Context) (loop, error) {
	switch w := r.job.Workload; {
	case r.job.Lock.Local == nil:
		return newRemoteLoop(ctx, r)
	case w.Locks > 1 || w.Reads > 0:
		return newMixedLoop(r), nil
	}
	return &localLoop{r.newHandles()}, nil
}

func refuse(format string, args ...any) error {
	return fmt.Errorf("%w: %w", harness.ErrUsage, fmt.Errorf(format, args...))
}

// fits returns an error that wraps harness.ErrUsage, with the reason, if w cannot drive v.
func fits(v *harness.Variant, w harness.Workload) error {
	part := w.Part(0)
	clients := cmp.Or(part.Clients, part.Workers)
	switch most := v.Traits.MaxWorkers; {
	case v.Unavailable != "":
		return refuse("%s cannot run here: %s", v.Name, v.Unavailable)
	case most > 0 && w.Workers > most:
		return refuse("%s serves at most %d workers, not %d", v.Name, most, w.Workers)
	case v.Traits.Needs != "" && clients > machine.MaxFiles()-ownFiles:
		return refuse("%d clients of %s need a connection each, and a process may open only %d files: raise the limit (ulimit -n)", clients, v.Name, machine.MaxFiles())
	case w.Wait != harness.WaitAdaptive && !v.Traits.FollowsWait:
		return refuse("the waiters of %s do not follow a wait policy (Traits.FollowsWait): wait is %s", v.Name, w.Wait)
	case v.Remote != nil && (w.Locks > 1 || w.Garbage):
		return refuse("locks and gc are axes of local locks, and %s is distributed", v.Name)
	case v.Local != nil && w.Rate > 0 && (w.Locks > 1 || w.Reads > 0):
		return refuse("an open loop drives one local lock without readers: give %s a rate, or reads or several locks", v.Name)
	case v.Traits.Misfit(w) != "":
		return refuse("%s cannot be measured with this workload: %s", v.Name, v.Traits.Misfit(w))
	case Unguarded(v, w) != "":
		return refuse("%s cannot guard the data of section %s: %s", v.Name, w.Section, Unguarded(v, w))
	}
	return nil
}

// ownFiles are open in a measuring process without a client: pipes, and files of the Go runtime.
const ownFiles = 8

// Drive runs all workers until limit. A Rig with stuck workers cannot be driven again.
//
// The clients of an open loop meet before the first drive, in acquisitions one after another: a
// client opens connections at its first wait, which would dominate a short window.
func (r *Rig) Drive(ctx context.Context, limit Limit) (*result.Result, error) {
	if w := r.job.Workload; r.drives == 0 && r.job.Lock.Remote != nil && w.Rate > 0 {
		if res, err := r.drive(ctx, Limit{Ops: meetingsEach * int64(w.Workers), closed: true}); err != nil || len(res.Violations) > 0 {
			return res, err
		}
	}
	return r.drive(ctx, limit)
}

// meetingsEach is the number of acquisitions of a worker before the first drive.
const meetingsEach = 2

// mostTouched is the greatest number of workers whose recorders are written to in advance, so
// that the window has no page faults. Those of 4,800 workers take 2 GB.
const mostTouched = 1024

func (r *Rig) drive(ctx context.Context, limit Limit) (*result.Result, error) {
	if r.dead {
		return nil, fmt.Errorf("measure: workers are stuck in %s", r.job.Lock.Name)
	}
	t := r.tune(limit)
	r.drives++
	d := &drive{control: newControl(limit, t.batch), rig: r, tuning: t, load: newLoad(r, limit, r.job.Seed+r.drives)}
	if spare := r.in.spare.Swap(nil); spare != nil && len(*spare) == r.job.Workload.Workers {
		d.tallies = *spare
	}
	fresh := d.tallies == nil
	for len(d.tallies) < r.job.Workload.Workers {
		d.tallies = append(d.tallies, new(tally))
	}
	for _, t := range d.tallies {
		if t.activity = (activity{}); fresh && len(d.tallies) <= mostTouched {
			t.wait, t.handover = result.Recorder{}, result.Recorder{}
		}
		if d.load == nil { // shares of the workers of an open loop have no meaning
			t.buckets.start(d)
		}
	}
	res := r.loop.drive(ctx, d)
	if r.dead = len(d.stuck) > 0; !r.dead {
		r.in.spare.Store(&d.tallies)
	}
	if d.alone != nil {
		return nil, d.alone
	}
	if err := r.pinErr.Load(); err != nil {
		return nil, fmt.Errorf("%w: cannot pin workers: %v", harness.ErrUsage, *err)
	}
	if res.Elapsed > 0 {
		r.rate = float64(res.Ops) / float64(res.Elapsed)
	}
	return res, nil
}

// Close ends the lock and its clients.
func (r *Rig) Close() error {
	r.undo()
	if r.dead {
		return nil // closing would wait for the workers that are stuck
	}
	return r.loop.close()
}

// leastWarmup is driven even without a warm-up, to tune the window.
const leastWarmup = 2 * time.Millisecond

// steady returns the greatest delay of a window until each worker has had the lock: a remote
// client's first requests are special, and at the begin of a drive all workers ask at once, which
// adds to the requests of an acquisition. A lock that starves workers is measured anyway after
// half of a window. In an open loop not every worker has work.
func (j *Job) steady() time.Duration {
	if j.Lock.Remote == nil || j.Workload.Rate > 0 {
		return 0
	}
	return j.Workload.Window / 2
}

// Measure sets up job in this process, warms it up, measures it and closes it.
func Measure(ctx context.Context, in *Instruments, job Job) (*result.Result, error) {
	if job.Lock.Loop == nil {
		return measureHere(ctx, in, job)
	}
	res, why := measureLoop(ctx, in, job)
	if !errors.Is(why, harness.ErrUsage) {
		return res, why
	}
	res, err := measureHere(ctx, in, job)
	if res != nil {
		res.Warnings = append(res.Warnings, byMessages(why))
	}
	return res, err
}

func measureHere(ctx context.Context, in *Instruments, job Job) (res *result.Result, err error) {
	x := new(sharer)
	defer func() { err = cmp.Or(err, x.close()) }()
	res, err = x.open(ctx, in, job, false)
	switch {
	case errors.Is(err, errViolated):
		return res, nil
	case err != nil:
		return nil, err
	}
	return x.rig.window(ctx, x.meter)
}

func (r *Rig) window(ctx context.Context, servers *serverMeter) (*result.Result, error) {
	r.servers = servers
	res, err := r.watched(ctx, func() (*result.Result, error) {
		return r.Drive(ctx, Limit{Window: r.job.Workload.Window, Steady: r.job.steady(), together: r.job.together})
	})
	if err != nil {
		return nil, err
	}
	res.Servers = servers.cost()
	return res, nil
}

// watched returns the result of drive with the noise of the machine meanwhile.
func (r *Rig) watched(ctx context.Context, drive func() (*result.Result, error)) (*result.Result, error) {
	var seen machine.Noise
	res, err := r.probed(ctx, func() (*result.Result, error) {
		noise := machine.Watch()
		res, err := drive()
		seen = noise.Stop()
		return res, err
	})
	if err = cmp.Or(err, ctx.Err()); err != nil {
		return nil, err
	}
	r.disturb(res, seen)
	res.Warnings = append(res.Warnings, doubts(res)...)
	return res, nil
}

func (r *Rig) disturb(res *result.Result, seen machine.Noise) {
	seen.Busy = min(r.job.Workload.Workers, seen.CPUs, runtime.GOMAXPROCS(0))
	res.Noise = &seen
	res.Warnings = slices.Concat(res.Warnings, machine.ChangeWarnings(seen, r.in.Start), machine.NoiseWarnings(seen, res.Lock.Traits.Needs != ""))
}

// minOverlap is the least share of the window with all workers for a valid result.
const minOverlap = 0.95

func doubts(r *result.Result) (ws []machine.Warning) {
	if r.Overlap < minOverlap {
		ws = append(ws, machine.Warning{
			Kind:   "overlap",
			Text:   fmt.Sprintf("all workers ran together for only %.0f %% of the window", 100*r.Overlap),
			Remedy: "use a longer --duration, and check the run's errors",
		})
	}
	if r.Elapsed > 2*r.Workload.Window+50*time.Millisecond {
		ws = append(ws, machine.Warning{
			Kind:   "late",
			Text:   "a window lasted more than twice as long as requested: the coordinator got no CPU",
			Remedy: "use a machine with more processors, or fewer workers",
		})
	}
	return ws
}

func (r *Rig) setup() harness.Setup {
	w := r.job.Workload
	s := harness.Setup{Workers: w.Workers, Wait: w.Wait, Pin: w.Pin}
	if w.Pin == harness.PinCPU {
		s.Nodes = nodes(r.in.Topology, w.Workers)
	}
	return s
}

// nodes returns each worker's node, numbered in their order: the processors of a last-level
// cache, else of a memory. It returns nil without several nodes.
func nodes(t machine.Topology, workers int) []int {
	const untold = -1
	used := t[:min(workers, len(t))]
	key := func(p machine.Place) int { return p.Cache }
	if slices.ContainsFunc(used, func(p machine.Place) bool { return p.Cache == untold }) {
		key = func(p machine.Place) int { return p.Node }
	}
	numbers := make(map[int]int)
	of := make([]int, workers)
	for i := range of {
		k := key(t[i%len(t)])
		if k == untold {
			return nil
		}
		if _, known := numbers[k]; !known {
			numbers[k] = len(numbers)
		}
		of[i] = numbers[k]
	}
	if len(numbers) < 2 {
		return nil
	}
	return of
}

// garbagePercent is Go's own default for GOGC.
const garbagePercent = 100

// allocatorLoad allocates about 250 MB/s, for some tens of collections per second, until stop.
func allocatorLoad() (stop func()) {
	const size, pause = 256 << 10, time.Millisecond
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		var keep []byte
		for tick := time.Tick(pause); ; {
			select {
			case <-done:
				runtime.KeepAlive(keep)
				return
			case <-tick:
				keep = make([]byte, size)
			}
		}
	}()
	return func() { close(done); <-ended }
}
