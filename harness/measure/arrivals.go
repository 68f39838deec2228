package measure

import (
	"context"
	"math"
	"sort"
	"sync/atomic"
	"time"

	"locklab/atomics"
	"locklab/harness"
	"locklab/internal/machine"
)

// arrivals are the intended starts of an open loop, drawn in advance, in one schedule for all
// workers. More than a million entries repeat.
type arrivals struct {
	times  []int64 // ns since the start of the schedule, ascending: one period
	period int64   // ns from an entry to the same one of the next period
	total  int64   // arrivals; no more come after them

	_    atomics.CacheLinePad
	next atomic.Int64 // first one not taken
	_    atomics.CacheLinePad
}

const mostTimes = 1 << 20

// newArrivals draws a schedule of length until, in ns, or of total arrivals.
func newArrivals(rate harness.Rate, spacing harness.Arrival, until, total int64, seed uint64) *arrivals {
	gap := 1e9 / float64(rate)
	expected := min(float64(total), float64(until)/gap)
	a := &arrivals{total: total, times: make([]int64, 0, int(min(mostTimes, 1.1*expected+64)))}
	rng := machine.NewRandom(seed ^ scheduleSeed)
	// Evenly spaced arrivals begin at a random point of the first interval.
	start := gap * float64(rng.Uint64()>>11) / (1 << 53)
	t := 0.0
	for n := int64(0); n < min(total, mostTimes) && (t < float64(until) || n == 0); n++ {
		if spacing == harness.Even {
			t = start + float64(n)*gap
		} else {
			t += rng.Exp(gap)
		}
		a.times = append(a.times, int64(t))
	}
	if spacing == harness.Even {
		t = float64(len(a.times)) * gap
	}
	a.period = max(1, int64(t))
	return a
}

// scheduleSeed separates the random numbers of a schedule from the workers' own.
const scheduleSeed = 0xbb67ae8584caa73b

func (a *arrivals) at(i int64) int64 {
	n := int64(len(a.times))
	if i < n {
		return a.times[i]
	}
	return i/n*a.period + a.times[i%n]
}

func (a *arrivals) before(t int64) int64 {
	n := int64(len(a.times))
	most := n
	if t > a.times[n-1] {
		most = (t/a.period + 1) * n
	}
	most = min(most, a.total)
	return int64(sort.Search(int(most), func(i int) bool { return a.at(int64(i)) >= t }))
}

func (a *arrivals) take() (i int64, ok bool) {
	i = a.next.Add(1) - 1
	return i, i < a.total
}

func (a *arrivals) taken() int64 { return min(a.next.Load(), a.total) }

// A load is the arrivals of an open loop and the range that counts, in ns since its start.
type load struct {
	*arrivals
	from, to int64 // an arrival counts if its intended start is in [from, to)
	deadline int64 // 0 is no deadline

	began int64         // ns since the drive's epoch
	tick  uint64        // the clock headstart earlier
	over  chan struct{} // closed when workers must leave

	limiters []*rateLimiter // by worker
}

// lead is the length of an open loop before its window, as a share, to form the queue.
const lead = 0.2

// newLoad returns the load of a drive of r until limit, or nil for a closed loop.
func newLoad(r *Rig, limit Limit, seed uint64) *load {
	w := r.job.Workload
	if w.Rate == 0 || limit.closed {
		return nil
	}
	l := &load{deadline: int64(w.Deadline), over: make(chan struct{})}
	if limit.Ops > 0 {
		l.to = math.MaxInt64
		l.arrivals = newArrivals(w.Rate, w.Arrivals, math.MaxInt64, limit.Ops, seed)
		return l
	}
	l.from = int64(lead * float64(limit.Window))
	l.to = l.from + int64(limit.Window)
	// It continues until the coordinator, which may be late, has closed the window.
	l.arrivals = newArrivals(w.Rate, w.Arrivals, l.to+int64(limit.Window)/4, math.MaxInt64, seed)
	return l
}

const headstart = int64(time.Millisecond)

// begin must be called before the workers start.
func (l *load) begin(d *drive) {
	if l == nil {
		return
	}
	l.began, l.tick = machine.ReadTogether(d.now, d.rig.in.Clock.Now)
	l.began += headstart
}

func (l *load) warm(ctx context.Context, d *drive) {
	if l != nil {
		sleep(ctx, time.Duration(l.began+l.from-d.now()))
	}
}

// end is called when workers must leave.
func (l *load) end() {
	if l != nil {
		close(l.over)
	}
}

func (l *load) counts(t int64) bool { return t >= l.from && t < l.to }
