package measure

import (
	"context"
	"math"
	"os"
	"runtime"
	"runtime/metrics"
	"slices"
	"time"

	"locklab/harness"
	"locklab/harness/oracle"
	"locklab/harness/result"
	"locklab/internal/machine"
)

// A drive is one run of all workers of a Rig.
type drive struct {
	*control
	rig     *Rig
	tallies []*tally
	tuning  tuning
	load    *load // nil in a closed loop

	t0, t1 snapshot // the window
	usage  machine.Usage
	heap   heapCounter
	allocs uint64
	wire   harness.Counts
	stuck  []int         // workers that never returned
	waited time.Duration // for them, since any of them last made progress

	late  time.Duration // delay of the window's start after the time agreed by all ranks
	alone error         // the reason why it did not begin together with the other ranks
}

// run starts the workers, lets them run until the limit, and waits for them. worker runs
// one of them; wire reads the traffic counters.
func (d *drive) run(ctx context.Context, worker func(i int), wire func() harness.Counts) {
	back := make(chan struct{}, len(d.tallies))
	for i, t := range d.tallies {
		// Nothing here is deferred: a worker that panics must not count as returned, because
		// the process could then print a result before the runtime ends it.
		go func() {
			unpin := d.rig.pin(i)
			<-d.start
			t.begin = d.now()
			if d.entered.Add(1) == int64(len(d.tallies)) {
				d.all <- struct{}{}
			}
			runtime.Gosched() // to the others and the coordinator: spinning workers leave them no processor for a time slice
			worker(i)
			t.end = d.now()
			unpin()
			t.left.Store(true)
			back <- struct{}{}
		}()
	}
	d.t0, d.t1, d.heap = newSnapshot(len(d.tallies)), newSnapshot(len(d.tallies)), newHeapCounter()
	timeout := time.NewTimer(d.rig.job.patience()) // before the window, which counts objects
	left := 0
	if d.load != nil { // windows, or arrivals, begin together with the other ranks'
		d.late, d.alone = d.limit.together.begin(ctx, pointWindow)
	}
	d.load.begin(d)
	if d.limit.Ops > 0 {
		d.open(ctx, wire)
		close(d.start)
		left = d.await(ctx, back, timeout)
		d.close(ctx, wire)
	} else {
		left = d.window(ctx, back, timeout, wire)
	}
	d.phase.Store(stop)
	d.load.end()
	d.join(back, left)
}

// unwired is for workers that send no messages.
func unwired() harness.Counts { return harness.Counts{} }

// window starts the workers, measures all running, and returns how many came back early.
func (d *drive) window(ctx context.Context, back <-chan struct{}, timeout *time.Timer, wire func() harness.Counts) (left int) {
	close(d.start)
	select {
	case <-d.all:
	case <-ctx.Done():
	}
	d.steady(ctx)
	d.load.warm(ctx, d)
	if d.load == nil {
		d.late, d.alone = d.limit.together.begin(ctx, pointWindow)
	}
	d.open(ctx, wire)
	d.opened = d.rig.in.Clock.Now()
	d.phase.Store(measure)
	timeout.Reset(d.limit.Window)
	left = d.await(ctx, back, timeout)
	d.close(ctx, wire)
	if d.rig.servers.lists > 0 {
		d.phase.Store(ramp)
		d.rig.servers.peak = d.rig.servers.read(ctx) // while all workers still contend
	}
	if d.limit.together != nil && ctx.Err() == nil {
		d.phase.Store(ramp)
		time.Sleep(tail)
	}
	return left
}

func (d *drive) steady(ctx context.Context) {
	first := func(t *tally) bool { return t.counts().ops == 0 }
	for end := time.Now().Add(d.limit.Steady); slices.ContainsFunc(d.tallies, first) && time.Now().Before(end) && ctx.Err() == nil; {
		time.Sleep(100 * time.Microsecond)
	}
}

func (d *drive) open(ctx context.Context, wire func() harness.Counts) {
	d.rig.servers.cpu = d.rig.servers.used(ctx)
	d.wire, d.usage = wire(), machine.ProcessUsage()
	d.allocs = d.heap.objects()
	d.t0.take(d.control, d.tallies)
}

func (d *drive) close(ctx context.Context, wire func() harness.Counts) {
	d.t1.take(d.control, d.tallies)
	d.allocs = d.heap.objects() - d.allocs
	d.usage = machine.ProcessUsage().Sub(d.usage)
	d.wire = wire().Sub(d.wire)
	d.rig.servers.end(ctx)
}

// await waits until the window is over or ctx ends. Without a window it waits until all
// workers have returned or none makes progress. It returns the number of returned workers.
func (d *drive) await(ctx context.Context, back <-chan struct{}, timeout *time.Timer) (left int) {
	for done := uint64(0); left < len(d.tallies); {
		select {
		case <-timeout.C:
			now := acquisitions(d.tallies)
			if d.limit.Ops == 0 || now == done {
				return left
			}
			done = now
			timeout.Reset(d.rig.job.patience())
		case <-ctx.Done():
			return left
		case <-back:
			left++
		}
	}
	return left
}

// join waits for the rest, and records as stuck those without progress they could have made.
func (d *drive) join(back <-chan struct{}, left int) {
	job := &d.rig.job
	w, patience, count := job.Workload, job.patience(), job.served
	limit := patience + time.Duration(w.Workers)*(long(w.Hold)+long(w.Think)+slice)
	step := min(max(patience/20, time.Millisecond), time.Second/2)
	if count == nil {
		count = countServed(os.Getpid(), job.Lock.Local == nil)
	}
	ticks := time.Tick(step)
	done, gotOn, moved, since := uint64(0), true, time.Now(), time.Duration(0)
	for left < len(d.tallies) {
		select {
		case <-back:
			left, gotOn = left+1, true
		case <-ticks:
			now, served := acquisitions(d.tallies), count(step)
			if gotOn || now != done {
				done, gotOn, moved, since = now, false, time.Now(), served
			} else if served-since >= limit {
				d.waited = time.Since(moved).Round(time.Second / 10)
				for i, t := range d.tallies {
					if !t.left.Load() {
						d.stuck = append(d.stuck, i)
					}
				}
				return
			}
		}
	}
}

// slice is the time that a thread or goroutine keeps the processor while others wait for it.
const slice = 10 * time.Millisecond

// countServed returns a function that returns the time in which process pid could have made
// progress: see [machine.Served]. It must be called at each step. A distributed lock moves in
// several processes, so a step counts a quarter if processors were short in it.
func countServed(pid int, distributed bool) func(step time.Duration) time.Duration {
	count := machine.NewServed(pid).Count
	if !distributed {
		return count
	}
	noise := machine.Watch()
	var sum, last time.Duration
	return func(step time.Duration) time.Duration {
		now := count(step)
		passed := now - last
		seen := noise.Stop()
		if seen.Pressure > mostStarved || seen.Throttled > 0 {
			passed /= lessStarved
		}
		noise, last, sum = machine.Watch(), now, sum+passed
		return sum
	}
}

// The divisor for a step with a shortage of processors, and the share of the step that some
// thread must have waited for one.
const (
	lessStarved = 4
	mostStarved = 0.5
)

func long(s harness.Span) time.Duration {
	d := 8 * s.Mean
	for length := range s.Parts() {
		d = max(d, length)
	}
	return d
}

func (d *drive) result() *result.Result {
	job, clock := d.rig.job, d.rig.in.Clock
	r := &result.Result{
		Lock: result.Describe(job.Lock), Workload: job.Workload, Started: d.epoch,
		Elapsed:     time.Duration(d.t1.at - d.t0.at),
		Workers:     make([]uint64, len(d.tallies)),
		SampleEvery: d.tuning.sampleEvery,
		Clock:       clock.Name(), ClockFloor: clock.Floor, ClockStep: clock.Step,
		CPU: result.ClientCost{Time: d.usage.User + d.usage.System, Voluntary: d.usage.Voluntary,
			Involuntary: d.usage.Involuntary, Allocs: d.allocs},
		Violations: oracle.NotReturned(d.stuck, d.waited),
	}
	for i := range d.tallies {
		r.Workers[i] = d.t1.workers[i].ops - d.t0.workers[i].ops
		r.Ops += r.Workers[i]
		r.Handovers += d.t1.workers[i].handovers - d.t0.workers[i].handovers
	}
	if len(d.stuck) > 0 {
		return r // the workers still write, so their data must not be read
	}
	var wait, handover result.Recorder
	var workers []*bucketCounter
	for _, t := range d.tallies {
		workers = append(workers, &t.buckets)
		t.wait.Drain(&wait)
		t.handover.Drain(&handover)
		r.Hold, r.Think = r.Hold.Merge(t.hold), r.Think.Merge(t.think)
	}
	r.Wait, r.Handover = wait.Snapshot(), handover.Snapshot()
	if wait.Clamped > 0 {
		r.Warnings = append(r.Warnings, machine.Warning{
			Kind:   "clipped",
			Text:   "some waits exceeded the histogram's 68 s and count as 68 s",
			Remedy: "use fewer workers or a shorter hold time",
		})
	}
	addBuckets(r, workers)
	r.Overlap = d.overlap()
	return r
}

// overlap returns the share of the measured span in which all workers ran.
func (d *drive) overlap() float64 {
	from, to := d.t0.at, d.t1.at
	if d.limit.Ops > 0 { // from the first worker's begin to the last one's end
		from, to = math.MaxInt64, 0
		for _, t := range d.tallies {
			from, to = min(from, t.begin), max(to, t.end)
		}
	}
	return overlap(d.tallies, from, to)
}

// overlap returns the share of a span in which all workers ran: the full-concurrency fraction
// of Arm's lockhammer.
func overlap(workers []*tally, from, to int64) float64 {
	if to <= from {
		return 0
	}
	begin, end := from, to
	for _, t := range workers {
		begin, end = max(begin, t.begin), min(end, t.end)
	}
	return max(0, float64(end-begin)/float64(to-from))
}

type heapCounter []metrics.Sample

// newHeapCounter reads once, because the first reading allocates.
func newHeapCounter() heapCounter {
	h := heapCounter{{Name: "/gc/heap/allocs:objects"}}
	h.objects()
	return h
}

func (h heapCounter) objects() uint64 {
	metrics.Read(h)
	return h[0].Value.Uint64()
}

// pin binds the calling goroutine by the workload and returns the undo.
func (r *Rig) pin(worker int) (unpin func()) {
	switch r.job.Workload.Pin {
	case harness.PinThread:
		runtime.LockOSThread()
		return runtime.UnlockOSThread
	case harness.PinCPU:
		runtime.LockOSThread()
		// Not unlocked: a thread with a changed affinity must end with its goroutine rather
		// than return to the pool.
		if err := machine.PinThread(r.cpus[worker%len(r.cpus)]); err != nil {
			r.pinErr.CompareAndSwap(nil, &err)
		}
	}
	return func() {}
}
