package hardware

import (
	"context"
	"math"
	"runtime"
	"time"

	"locklab/atomics"
	"locklab/internal/machine"
	"locklab/internal/stat"
)

// A handOver is a way to wait for a word. A waiter takes the line to write by a compare-and-swap,
// even in vain, to read by a load.
type handOver struct {
	name  string
	loads bool // before each compare-and-swap
}

var (
	casSpin     = handOver{name: "CAS-spin"}
	loadThenCAS = handOver{"load, then CAS", true}
)

// hopPatience is the vain tries after which a thread lets others run: the other may be stopped
// by a garbage collection that waits for this one.
const hopPatience = 1 << 20

// hand passes w on hops times: it waits until w is me, 0 or 1, and sets it to the other.
func (h handOver) hand(w *atomics.Uint64, me uint64, hops int) {
	other := 1 - me
	for range hops {
		for tries := 0; h.loads && w.Load() != me || !w.CompareAndSwap(me, other); tries++ {
			if tries == hopPatience {
				runtime.Gosched()
				tries = 0
			}
		}
	}
}

// A hopLine is a word alone in its cache line, also as an element of an array.
type hopLine struct {
	w atomics.Uint64
	_ atomics.CacheLinePad
}

const (
	hopSpan      = 250 * time.Microsecond // of a sample, about
	hopBlock     = 16                     // samples between two checks of the context
	hopArena     = 1024                   // lines that a thread allocates at once
	meetHops     = 2                      // round trips before the clock starts
	firstHops    = 64                     // round trips of the first sample of an exchange
	mostHops     = 1 << 24                // round trips of a sample
	calibrations = 8                      // samples of a block that may not count
)

// A hopRig has a thread for each CPU: starting two threads for each pair would take longer
// than a handover.
type hopRig struct {
	*pinnedThreads
	thread map[int]int       // by CPU
	lines  map[int][]hopLine // unused, by thread
}

func newHopRig(cpus ...int) (*hopRig, error) {
	pinned, err := newPinnedThreads(cpus...)
	r := &hopRig{pinnedThreads: pinned, thread: make(map[int]int), lines: make(map[int][]hopLine)}
	for i, cpu := range cpus {
		r.thread[cpu] = i
	}
	return r, err
}

// fresh returns an unused line, in the memory of the thread's node: it touches it first.
func (r *hopRig) fresh(thread int) *hopLine {
	if len(r.lines[thread]) == 0 {
		lines := make([]hopLine, hopArena)
		r.only(thread).step(func(int) {
			for i := range lines {
				lines[i].w.Store(0)
			}
		})
		r.lines[thread] = lines
	}
	line := &r.lines[thread][0]
	r.lines[thread] = r.lines[thread][1:]
	return line
}

type exchange struct {
	handOver
	rig     *hopRig
	threads [2]int         // the leader, which starts, and the follower
	pair    *pinnedThreads // both
	span    time.Duration  // of a sample
	hops    int            // round trips of the next sample
	samples int            // taken, including uncounted ones
}

func (r *hopRig) exchange(h handOver, cpus [2]int, span time.Duration) *exchange {
	a, b := r.thread[cpus[0]], r.thread[cpus[1]]
	return &exchange{handOver: h, rig: r, threads: [2]int{a, b}, pair: r.only(a, b), span: span, hops: firstHops}
}

// block takes n samples and returns the one-way times in ns, fewer if too many do not count.
func (e *exchange) block(n int) (ns []float64) {
	for range n + calibrations {
		if t, counts := e.sample(); counts {
			ns = append(ns, t)
		}
		if len(ns) == n {
			break
		}
	}
	return ns
}

// sample takes a sample on a line of its own, from the two threads in turn. It does not count
// if a thread was preempted, or if it is much too short because hops is still small.
func (e *exchange) sample() (ns float64, counts bool) {
	w := &e.rig.fresh(e.threads[e.samples%2]).w
	e.samples++
	var took time.Duration
	var preempted [2]bool
	e.pair.step(func(thread int) {
		before := preemptions()
		e.hand(w, uint64(thread), meetHops)
		start := time.Now()
		e.hand(w, uint64(thread), e.hops)
		if thread == 1 {
			took = time.Since(start)
		}
		preempted[thread] = preemptions() != before
	})
	ns = float64(took) / float64(2*e.hops)
	e.hops = adaptHops(e.hops, took, e.span)
	return math.Round(100*ns) / 100, took >= e.span/2 && !preempted[0] && !preempted[1] // no meaningless digits
}

// preemptions returns the calling thread's, 0 if unknown: such a sample has no meaning.
func preemptions() int64 {
	u, _ := machine.ThreadUsage()
	return u.Involuntary
}

// adaptHops returns the round trips that fill span, if hops took that long: at least half,
// since a sample may have been interrupted.
func adaptHops(hops int, took, span time.Duration) int {
	fill := float64(hops) * float64(span) / float64(max(took, 1))
	return int(min(max(fill, float64(hops)/2, firstHops), mostHops))
}

// visit adds up to that many samples to p. It ends after within with the samples that it has:
// the machine is busy.
func (r *hopRig) visit(ctx context.Context, p *hopPair, samples int, within time.Duration) error {
	cas, load := r.exchange(casSpin, p.cpus, hopSpan), r.exchange(loadThenCAS, p.cpus, hopSpan)
	start := time.Now()
	for i, end := 0, len(p.cas)+samples; len(p.cas) < end && (i == 0 || time.Since(start) < within); i++ {
		if err := ctx.Err(); err != nil {
			return err
		}
		n := min(hopBlock, end-len(p.cas))
		switch {
		case !p.beside:
			p.cas = append(p.cas, cas.block(n)...)
		case i%2 == 0: // C L L C: a drift affects both
			p.add(cas.block(n), load.block(n))
		default:
			l := load.block(n)
			p.add(cas.block(n), l)
		}
	}
	return nil
}

func (p *hopPair) add(cas, load []float64) {
	p.cas = append(p.cas, cas...)
	if len(cas) > 0 && len(load) > 0 {
		p.both = append(p.both, stat.Median(cas), stat.Median(load))
	}
}

func (p *hopPair) blocks() (cas, load []float64) {
	for i := 0; i+1 < len(p.both); i += 2 {
		cas, load = append(cas, p.both[i]), append(load, p.both[i+1])
	}
	return cas, load
}
