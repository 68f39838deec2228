package runner

import (
	"fmt"
	"runtime"
	"time"

	"locklab/harness"
	"locklab/harness/recorder"
	"locklab/internal/numfmt"
)

// A pacer is how one worker of an open loop takes arrivals, and what it notes of them.
type pacer struct {
	*load
	c     *control
	timer *time.Timer

	late, dropped uint64  // of the arrivals that count
	gone          []int64 // when those were dropped that came not long before the window was to end, or later
	passed        int64   // how many were dropped before
	left          []int64 // when those samples were meant to begin that were taken and had not begun when the drive was over
	lag           recorder.Histogram

	latest, index int64 // by how much an arrival was late at most, in ns, and which one it was
}

func newPacer(d *drive) *pacer {
	p := &pacer{load: d.load, c: d.control, timer: time.NewTimer(time.Hour)}
	p.timer.Stop()
	return p
}

// take takes an arrival, and returns it and when it is meant to begin, or false if
// the drive is over.
func (p *pacer) take() (i, at int64, ok bool) {
	if p.c.over() {
		return 0, 0, false
	}
	if i, ok = p.load.take(); !ok {
		return 0, 0, false
	}
	return i, p.at(i), true
}

// begun notes how late, in ns, the request of arrival i begins, which is meant to begin
// at at, and whether the worker waited for it.
func (p *pacer) begun(i, at, lag int64, waited bool) {
	switch {
	case !p.counts(at):
	case waited:
		p.lag.Record(lag)
	default:
		p.late++
		if lag >= p.latest {
			p.latest, p.index = lag, i
		}
	}
}

// drop notes that an arrival that was meant to begin at at is dropped; timed says
// whether it is a sample.
func (p *pacer) drop(t *tally, at int64, timed bool) {
	if gone := at + p.deadline; gone < p.to {
		p.passed++
	} else { // the coordinator, which ends the window, may be late
		p.gone = append(p.gone, gone)
	}
	if !p.counts(at) {
		return
	}
	p.dropped++
	if timed {
		t.wait.Record(p.deadline)
	}
}

// leave notes that the drive was over before an arrival began that was taken and is meant
// to begin at at; timed says whether it is a sample.
func (p *pacer) leave(at int64, timed bool) {
	if timed && p.counts(at) {
		p.left = append(p.left, at)
	}
}

// Far ahead of an arrival a worker sleeps, and wakes so early that no timer of the
// runtime, which may be a millisecond late, makes it late.
const (
	farAhead  = int64(3 * time.Millisecond)
	wakeAhead = int64(1500 * time.Microsecond)
)

// sleep sleeps most of the time until an arrival that is far ahead, by so many ns. It
// returns early if the drive is over.
func (p *pacer) sleep(ahead int64) {
	p.timer.Reset(time.Duration(ahead - wakeAhead))
	select {
	case <-p.timer.C:
	case <-p.load.over:
		p.timer.Stop()
	}
}

// yields reports whether a worker that waits for its arrival has to give way to other
// workers, because there are more of them than processors.
func yields(w harness.Workload) bool { return w.Workers > runtime.GOMAXPROCS(0) }

// settle returns what became of the arrivals of d, whose workers are back, and adds the
// waits of those that no worker took to a tally: until the window ended.
func (d *drive) settle(pacers []*pacer) *harness.OpenLoop {
	l := d.load
	end := d.t1.at - l.began
	last, due := l.before(min(l.to, end)), l.before(end) // of those that count, and of all
	o := &harness.OpenLoop{Offered: uint64(last - l.before(l.from)), Span: time.Duration(l.to - l.from)}
	if d.limit.Ops > 0 {
		last, due = l.total, l.total
		o.Offered, o.Span = uint64(l.total), time.Duration(l.at(l.total-1)+1)
	}
	gone := int64(0)
	var lag harness.Histogram
	for _, p := range pacers {
		o.Late += p.late
		o.Dropped += p.dropped
		gone += p.passed
		for _, t := range p.gone {
			if t <= end {
				gone++
			}
		}
		lag = lag.Merge(p.lag.Snapshot())
		if p.late > 0 {
			o.Behind = max(o.Behind, uint64(max(1, l.before(l.at(p.index)+p.latest)-p.index)))
		}
	}
	if left := due - l.taken(); left > 0 { // those found all workers busy until the end
		o.Late += uint64(max(0, last-max(l.taken(), l.before(l.from))))
		o.Behind = max(o.Behind, uint64(left))
	}
	for i := l.taken(); i < due && l.deadline > 0 && end-l.at(i) > l.deadline; i++ {
		gone++
		if l.counts(l.at(i)) {
			o.Dropped++
		}
	}
	d.waiting(pacers, last, end)
	o.Backlog = uint64(max(0, due-int64(d.t1.acquisitions())-gone))
	if len(lag) > 0 {
		o.Lag50, o.Lag99 = lag.Quantile(0.5), lag.Quantile(0.99)
	}
	return o
}

// waiting adds to a tally the waits of arrivals before the last that no worker took, or
// that had not begun when the drive was over: until the window ended.
func (d *drive) waiting(pacers []*pacer, last, end int64) {
	l := d.load
	wait, gaps := &d.tallies[0].wait, newSampler(d, -1)
	waits := func(at int64) {
		waited := end - at
		if l.deadline > 0 {
			waited = min(waited, l.deadline)
		}
		wait.Record(waited)
	}
	for i := l.taken() + int64(gaps.gap()) - 1; i < last; i += int64(gaps.gap()) {
		if at := l.at(i); at >= l.from {
			waits(at)
		}
	}
	for _, p := range pacers {
		for _, at := range p.left {
			if at < end {
				waits(at)
			}
		}
	}
}

// What is wrong with an open loop, as shares.
const (
	leastServed = 0.95 // of the rate that was offered, below which the lock does not keep up
	mostLate    = 0.01 // of the arrivals, above which workers were too few
	mostLag     = 0.5  // of the 99th percentile of the waits, above which it is the loop's
)

// fewWaiting is how many acquisitions may wait at the end of a window by chance.
const fewWaiting = 10

// loadDoubts returns what the arrivals of r show to be wrong with it.
func loadDoubts(r *harness.Result) (ws []harness.Warning) {
	o := r.Open
	offered, achieved := float64(o.Offered)/o.Span.Seconds(), float64(r.Ops)/r.Elapsed.Seconds()
	late := fmt.Sprintf("%.1f %% of the arrivals found all %s busy, and %d of them at a time",
		100*float64(o.Late)/float64(max(1, o.Offered)), numfmt.Plural(r.Workload.Workers, "worker"), o.Behind)
	switch {
	case o.Offered == 0 || r.Elapsed <= 0:
		return nil
	case achieved < leastServed*offered && o.Backlog > fewWaiting && o.Dropped == 0:
		ws = append(ws, harness.Warning{
			Kind: "overload",
			Text: numfmt.Plain(fmt.Sprintf("the lock was asked for %s and granted %s; %d acquisitions were waiting at the end, and %s: waits grow with the window",
				numfmt.PerSecond(offered), numfmt.PerSecond(achieved), o.Backlog, late)),
			Remedy: "compare its waits at lower rates only; if more workers raise the rate that it grants, the workers were the limit",
		})
	case float64(o.Late) > mostLate*float64(o.Offered):
		ws = append(ws, harness.Warning{
			Kind:   "pool",
			Text:   "the loop was not open: " + late + "; their waits count from when they were meant to begin, but the lock did not see them then",
			Remedy: "use more --workers, or a lower --rate",
		})
	}
	if p99 := r.Wait.Quantile(0.99); o.Lag99 > mostLag*p99 && r.Wait.Count() > 0 {
		ws = append(ws, harness.Warning{
			Kind: "pacing",
			Text: numfmt.Plain(fmt.Sprintf("1 in 100 requests began more than %s after it was meant to although a worker was free; p99 of the waits is %s",
				numfmt.Nanos(o.Lag99), numfmt.Nanos(p99))),
			Remedy: "read its tail as that of the machine, not of the lock; use fewer --workers, or a machine with processors to spare",
		})
	}
	return ws
}
