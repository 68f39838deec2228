package measure

import (
	"cmp"
	"fmt"
	"math"
	"time"

	"locklab/atomics"
	"locklab/harness/result"
	"locklab/internal/machine"
	"locklab/internal/numfmt"
)

// A rateLimiter takes arrivals for one worker of an open loop and records their outcome. The
// worker waits for each by a clock, without a system call if the arrival is near.
type rateLimiter struct {
	_ atomics.CacheLinePad
	*load
	c       *control
	t       *tally
	timer   *time.Timer
	sampler sampler
	now     func() int64      // ns since the start of the load
	near    func(ahead int64) // waits a little for an arrival that is at most farAhead away
	arrivalLog
	_ atomics.CacheLinePad
}

// An arrivalLog is the outcome of one worker's arrivals.
type arrivalLog struct {
	late, dropped uint64  // of the arrivals that count
	gone          []int64 // times of drops shortly before the window was to end, or later
	passed        int64   // number of earlier drops
	left          int64   // intended start of a taken sample that had not begun at the end of the drive; 0 if none
	lag           result.Recorder

	latest, index int64 // greatest delay of an arrival, in ns, and its index
}

func newRateLimiter(d *drive, worker int, now func() int64, near func(ahead int64)) *rateLimiter {
	p := &rateLimiter{load: d.load, c: d.control, t: d.tallies[worker], timer: time.NewTimer(time.Hour),
		sampler: newSampler(d, worker), now: now, near: near}
	p.timer.Stop()
	d.load.limiters = append(d.load.limiters, p)
	return p
}

// run takes arrivals and waits for each until the drive is over. It passes the intended start and
// whether the acquisition is timed to serve, which returns when it got and left the lock. An
// arrival that gets it after the deadline is dropped.
func (p *rateLimiter) run(serve func(at int64, timed bool) (got, left int64, err error)) error {
	for k, next := uint64(0), p.sampler.gap()-1; !p.c.over(); k++ {
		i, ok := p.take()
		if !ok {
			break
		}
		at, timed := p.at(i), k == next
		if timed {
			next += p.sampler.gap()
		}
		now, waited, ok := p.await(at)
		if !ok { // it may still be due in the window, whose end is read after the workers are stopped
			if timed && p.counts(at) {
				p.left = at
			}
			break
		}
		p.begun(i, at, now-at, waited)
		if p.missed(at, now) {
			p.drop(at, timed)
			continue
		}
		got, left, err := serve(at, timed)
		switch {
		case err != nil:
			return err
		case p.missed(at, got):
			p.drop(at, timed)
			continue
		case timed && p.counts(at):
			p.t.wait.Record(got - at)
			p.t.hold.Add(left - got)
		}
		p.t.publish(1, 0)
	}
	if p.c.limit.Ops == 0 {
		<-p.load.over // it stays for the whole window, even without a further arrival
	}
	return nil
}

func (p *rateLimiter) missed(at, now int64) bool { return p.deadline > 0 && now-at > p.deadline }

// await returns the time of an arrival and whether it had to wait; ok is false at the end.
func (p *rateLimiter) await(at int64) (now int64, waited, ok bool) {
	for {
		now = p.now()
		switch ahead := at - now; {
		case ahead <= 0:
			return now, waited, true
		case p.c.over():
			return now, waited, false
		case ahead > farAhead:
			p.sleep(ahead)
		default:
			p.near(ahead)
		}
		waited = true
	}
}

// begun records the delay lag, in ns, of arrival i; waited: the worker waited for it.
func (p *rateLimiter) begun(i, at, lag int64, waited bool) {
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

// drop records that a timed or untimed arrival was dropped.
func (p *rateLimiter) drop(at int64, timed bool) {
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
		p.t.wait.Record(p.deadline)
	}
}

// A worker sleeps if its arrival is far ahead, and wakes early: a timer may be 1 ms late.
const (
	farAhead  = int64(3 * time.Millisecond)
	wakeAhead = int64(1500 * time.Microsecond)
)

// sleep sleeps most of the ahead ns until an arrival, or until the drive is over.
func (p *rateLimiter) sleep(ahead int64) {
	p.timer.Reset(time.Duration(ahead - wakeAhead))
	select {
	case <-p.timer.C:
	case <-p.load.over:
		p.timer.Stop()
	}
}

// outcome returns the result of d, whose workers have returned or are stuck.
func (d *drive) outcome() *result.Result {
	if d.load == nil || len(d.stuck) > 0 {
		return d.result()
	}
	open := d.settle()
	r := d.result()
	r.Open = open
	r.Warnings = append(r.Warnings, loadDoubts(r)...)
	return r
}

// settle returns the outcome of the arrivals of d, whose workers have returned. It adds the
// waits of arrivals that no worker took to a tally, up to the end of the window.
func (d *drive) settle() *result.OpenLoop {
	l := d.load
	end := d.t1.at - l.began
	last, due := l.before(min(l.to, end)), l.before(end) // arrivals that count, and all
	o := &result.OpenLoop{Offered: uint64(last - l.before(l.from)), Span: time.Duration(l.to - l.from)}
	if d.limit.Ops > 0 {
		last, due = l.total, l.total
		o.Offered, o.Span = uint64(l.total), time.Duration(l.at(l.total-1)+1)
	}
	gone := int64(0)
	var lag result.Recorder
	for _, p := range d.load.limiters {
		o.Late += p.late
		o.Dropped += p.dropped
		gone += p.passed
		for _, t := range p.gone {
			if t <= end {
				gone++
			}
		}
		p.lag.Drain(&lag)
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
	d.waiting(last, end)
	o.Backlog = uint64(max(0, due-int64(d.t1.acquisitions())-gone))
	if lags := lag.Snapshot(); len(lags) > 0 {
		o.Lag50, o.Lag99 = lags.Quantile(0.5), lags.Quantile(0.99)
	}
	return o
}

// waiting adds the waits before arrival last that had not begun, up to the window's end.
func (d *drive) waiting(last, end int64) {
	l := d.load
	longest, gaps := cmp.Or(l.deadline, math.MaxInt64), newSampler(d, -1)
	for i := l.taken() + int64(gaps.gap()) - 1; i < last; i += int64(gaps.gap()) {
		if at := l.at(i); at >= l.from {
			d.tallies[0].wait.Record(min(end-at, longest))
		}
	}
	for _, p := range l.limiters {
		if p.left > 0 && p.left < end {
			d.tallies[0].wait.Record(min(end-p.left, longest))
		}
	}
}

// Limits for warnings about an open loop, as shares.
const (
	mostLate = 0.01 // of the arrivals; above it workers were too few
	mostLag  = 0.5  // of the 99th percentile of the waits; above it the loop dominates
)

func loadDoubts(r *result.Result) (ws []machine.Warning) {
	o := r.Open
	offered, achieved := float64(o.Offered)/o.Span.Seconds(), float64(r.Ops)/r.Elapsed.Seconds()
	late := fmt.Sprintf("%.1f %% of the arrivals found all %s busy, and %d of them at a time",
		100*float64(o.Late)/float64(max(1, o.Offered)), numfmt.Plural(r.Workload.Workers, "worker"), o.Behind)
	switch {
	case o.Offered == 0 || r.Elapsed <= 0:
		return nil
	case result.Behind(r) && o.Dropped == 0:
		ws = append(ws, machine.Warning{
			Kind: "overload",
			Text: numfmt.Plain(fmt.Sprintf("the lock was asked for %s and granted %s; %d acquisitions were waiting at the end, and %s: waits grow with the window",
				numfmt.PerSecond(offered), numfmt.PerSecond(achieved), o.Backlog, late)),
			Remedy: "compare its waits at lower rates only; if more workers raise the rate that it grants, the workers were the limit",
		})
	case float64(o.Late) > mostLate*float64(o.Offered):
		ws = append(ws, machine.Warning{
			Kind:   "pool",
			Text:   "the loop was not open: " + late + "; their waits count from when they were meant to begin, but the lock did not see them then",
			Remedy: "use more --workers, or a lower --rate",
		})
	}
	if p99 := r.Wait.Quantile(0.99); o.Lag99 > mostLag*p99 && r.Wait.Count() > 0 {
		ws = append(ws, machine.Warning{
			Kind: "pacing",
			Text: numfmt.Plain(fmt.Sprintf("1 in 100 requests began more than %s late although a worker was free; p99 of the waits is %s",
				numfmt.Nanos(o.Lag99), numfmt.Nanos(p99))),
			Remedy: "read its tail as that of the machine, not of the lock; use fewer --workers, or a machine with processors to spare",
		})
	}
	return ws
}
