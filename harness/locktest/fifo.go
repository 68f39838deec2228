package locktest

import (
	"context"
	"fmt"
	"runtime"
	"sync/atomic"
	"time"

	"locklab/harness"
)

const (
	queue  = 7 // workers: the holder and six waiters
	trials = 5 // a lock without order passes all by luck once in 7!/5 = 1008 times
)

func fifo(ctx context.Context, s Subject) {
	if !isRemote(s.Variant) {
		sh := shape{workers: atMost(s.Variant, queue)}
		if s.Variant.Family == harness.Spin {
			sh.wait = harness.WaitPause // the policies of eachCount are others
		}
		needQueue(sh)
		within(sh, func() { sh.arrivalsInOrder(ctx, s, 4, 0) })
		overtaking(ctx, s)
		eachCount(s, func(sh shape) { sh.arrivalsInOrder(ctx, s, 4, 0) })
		return
	}
	for _, sh := range []shape{{workers: queue, per: 1}, {workers: throngs, per: perClient}} {
		sh.workers = atMost(s.Variant, sh.workers)
		needQueue(sh)
		// The last of the trials has gaps 16 times as long: longer than a busy machine keeps
		// a process from running.
		gap := max(140*time.Millisecond/time.Duration(sh.workers), 14*time.Millisecond)
		within(sh, func() { sh.arrivalsInOrder(ctx, s, 1, gap) })
	}
}

const longestTrial = 100 * time.Millisecond

// arrivalsInOrder checks that a lock serves in order of arrival, in rounds with random orders: the
// others ask one by one while the first has the lock, and the first asks again after its release.
// An arrival cannot be observed, so time spaces them: gap in the first trial of a round, with 0 as
// little as possible, and more in each further one. A FIFO lock passes one of the trials.
func (sh shape) arrivalsInOrder(ctx context.Context, s Subject, rounds int, gap time.Duration) {
	g := sh.gather(ctx, s, rounds)
	g.reads = false
	n := len(g.hs)
	var late error
	g.judge = func(r *scene) bool {
		arrival := func(i int) int { return (r.place[i]-1+n)%n + 1 } // the first holder is the last
		for k, i := range r.served {
			if arrival(int(i)) == k+1 {
				continue
			}
			if r.trial+1 < trials {
				return false
			}
			late = fmt.Errorf("%d workers arrived one after the other, and number %d of them was served instead of number %d; out of order in all of %d trials",
				n, arrival(int(i)), k+1, trials)
			g.until = time.Now()
		}
		return true
	}
	g.gap = func(trial int) {
		switch {
		case gap > 0:
			time.Sleep(gap << trial)
		case trial > 0:
			time.Sleep(min(20*time.Microsecond<<(3*trial), longestTrial/time.Duration(n)))
		}
	}
	s.Patience = s.patience() + time.Duration(n)*gap<<(trials-1)
	g.run(ctx, s)
	must(late)
}

const (
	// few workers are enough for a queue, and keep it short; many exceed the
	// processors of most test machines.
	few, many = 4, 12

	// suspect and tolerated limit the share of acquisitions, and of waits, with another worker
	// ahead once too often: a worker may be preempted between its announcement and its place
	// in line. On two processors with ten to fifteen runnable threads, FIFO locks showed up to
	// 0.003 % of acquisitions and 0.016 % of waits, broken locks 0.06 % or more.
	suspect, tolerated = 0.0001, 0.0003

	// offProcessor is the wait in which a worker may have lost its processor before it was in
	// line. On two processors with a load of 12, up to 0.05 % of the waits were that long.
	offProcessor = 200 * time.Microsecond

	// enoughWaits is the number of waits for a verdict: on a busy machine few acquisitions
	// have to wait. A suspect lock then gets four times as many, and fails if both shares
	// still exceed the limits. Without enough waits within the stress time the lock passes.
	enoughWaits = 25_000
)

// A waitCount counts how often each worker takes the lock while another waits.
type waitCount struct {
	most   uint64          // times that another worker may overtake a waiter
	grants []atomic.Uint64 // granted acquisitions of each worker
	uses   uint64          // acquisitions of all workers, after a round

	waits, bad uint64 // waits with another worker ahead, and those with one too often; guarded by the lock
	worst      uint64

	// stopped counts the workers that a host stopped for less than offProcessor while they
	// looked at the grants of the others. If asking takes several steps, up to twice as many
	// are stopped between two steps.
	stopped  uint64
	shortest time.Duration // look at the grants
}

func (w *waitCount) granted(i int, seen []uint64, since time.Time, look time.Duration) {
	var ahead uint64
	for j := range seen {
		ahead = max(ahead, w.grants[j].Load()-seen[j])
	}
	w.grants[i].Add(1)
	if ahead > 0 {
		w.waits++
	}
	if w.shortest == 0 || look < w.shortest {
		w.shortest = look
	}
	if look > max(time.Microsecond, 16*w.shortest) {
		if look < offProcessor {
			w.stopped++
		}
		return // what it saw first is old
	}
	if ahead > w.most && time.Since(since) < offProcessor {
		w.bad++
		w.worst = max(w.worst, ahead)
	}
}

// addRound adds a round of a new lock.
func (w *waitCount) addRound(ctx context.Context, r *rig) {
	seen := make([][]uint64, len(r.hs))
	for i := range seen {
		seen[i] = make([]uint64, len(r.hs), len(r.hs)+16) // on separate cache lines
	}
	uses := r.drive(ctx, func(_ context.Context, i int) {
		since := time.Now() // before it looks: a worker may lose its processor between the two
		for j := range seen[i] {
			seen[i][j] = w.grants[j].Load()
		}
		look := time.Since(since)
		r.hs[i].Lock()
		w.granted(i, seen[i], since, look)
		r.p.hold(i)
		r.hs[i].Unlock()
		r.p.think(i)
	})
	for _, k := range uses {
		w.uses += k
	}
}

// overtaking checks that after a worker asks, each other goes ahead of it at most once. If
// asking takes several steps, one more may pass during these.
func overtaking(ctx context.Context, s Subject) {
	most, stops := uint64(1), uint64(0)
	if s.Variant.Traits.Doorway {
		most, stops = 2, 2
	}
	for _, n := range []int{few, many} {
		sh := shape{workers: atMost(s.Variant, n)}
		w := &waitCount{most: most, grants: make([]atomic.Uint64, sh.workers)}
		end, enough := time.Now().Add(s.stress()), uint64(enoughWaits)
		for round := 0; w.waits < enough && time.Now().Before(end); round++ {
			sh.once(ctx, s, limits{window: 10 * time.Millisecond}, round%2 == 1, func(r *rig) { w.addRound(ctx, r) })
			if float64(w.bad) <= suspect*float64(w.uses) || w.waits < enough {
				continue
			}
			if enough > enoughWaits {
				if float64(w.bad) <= tolerated*float64(w.waits)+float64(stops*w.stopped) {
					break
				}
				fail("%v: in %d of %d acquisitions, and %d waits, another worker had gone ahead more than %d times, up to %d: waiters are overtaken", sh, w.bad, w.uses, w.waits, most, w.worst)
			}
			enough = 4 * w.waits
		}
	}
}

type unfair struct {
	holds    uint64
	patience time.Duration
}

// tooUnfair tolerates a waiter without a processor while others acquire in a microsecond.
var tooUnfair = unfair{10_000, time.Second}

// starvation makes workers contend until each has had some acquisitions.
func starvation(ctx context.Context, s Subject) {
	once := func(workers int, check func(r *rig)) {
		shape{workers: atMost(s.Variant, workers), per: 2}.once(ctx, s, limits{}, false, check)
	}
	if isRemote(s.Variant) {
		hold := func() { time.Sleep(time.Millisecond) }
		once(5, func(r *rig) { everyWorkerGets(ctx, r, 4, hold, unfair{holds: 200}) })
		return
	}
	for _, n := range []int{few, many} {
		once(n, func(r *rig) { everyWorkerGets(ctx, r, 20, runtime.Gosched, tooUnfair) })
	}
	// A greedy worker starves another on a lock free for a moment: one of 3,000 attempts
	// succeeds. Several starve one that sets waiters aside.
	once(2, func(r *rig) {
		greedy(ctx, r, func() { time.Sleep(100 * time.Microsecond) }, unfair{1000, 500 * time.Millisecond})
	})
	once(few, func(r *rig) { greedy(ctx, r, runtime.Gosched, tooUnfair) })
}

// greedy makes worker 0 ask at intervals, while the others retake the lock at once.
func greedy(ctx context.Context, r *rig, hold func(), limit unfair) {
	const turns = 15
	var taken atomic.Uint64 // acquisitions of the others
	var waits atomic.Bool   // whether worker 0 waits
	var wait turn           // of worker 0
	r.drive(ctx, func(_ context.Context, i int) {
		if i > 0 {
			var ahead uint64
			for k := 0; k < 64 && ahead == 0; k++ { // nothing comes between Unlock and Lock
				r.hs[i].Lock()
				if n := taken.Add(1); waits.Load() {
					ahead = wait.starved(n, limit)
				}
				hold()
				r.hs[i].Unlock()
			}
			starved(0, ahead)
			return
		}
		if wait.uses++; wait.uses > turns {
			must(errOver)
		}
		time.Sleep(100 * time.Microsecond)
		wait.begin(taken.Load())
		waits.Store(true)
		r.hs[0].Lock()
		waits.Store(false)
		r.hs[0].Unlock()
	})
}

func starved(worker int, ahead uint64) {
	if ahead > 0 {
		fail("worker %d waits, and meanwhile the others have taken the lock %d times", worker, ahead)
	}
}

// everyWorkerGets counts acquisitions once all workers have asked for the lock, until each has had
// enough. The holder yields or sleeps, so that the others keep asking.
func everyWorkerGets(ctx context.Context, r *rig, enough int, hold func(), limit unfair) {
	n := len(r.hs)
	last := make([]turn, n)
	came := make([]bool, n) // each for its worker
	var asked, total, fed atomic.Uint64
	r.drive(ctx, func(_ context.Context, i int) {
		if !came[i] {
			came[i] = true
			last[i].begin(0)
			asked.Add(1)
		}
		r.hs[i].Lock()
		defer r.hs[i].Unlock()
		hold()
		if asked.Load() < uint64(n) {
			return
		}
		k := total.Add(1)
		last[i].begin(k)
		if last[i].uses++; last[i].uses == enough && fed.Add(1) == uint64(n) {
			must(errOver)
		}
		if k%64 > 0 {
			return
		}
		for j := range last {
			starved(j, last[j].starved(k, limit))
		}
	})
}

type turn struct {
	uses  int // of this worker
	taken atomic.Uint64
	at    atomic.Int64
}

func (t *turn) begin(taken uint64) {
	t.taken.Store(taken)
	t.at.Store(time.Now().UnixNano())
}

func (t *turn) starved(taken uint64, limit unfair) (ahead uint64) {
	if from := t.taken.Load(); taken > from+limit.holds && time.Since(time.Unix(0, t.at.Load())) > limit.patience {
		return taken - from
	}
	return 0
}
