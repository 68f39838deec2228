package locktest

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"locklab/harness"
)

type limits struct {
	window   time.Duration // 0: no limit
	uses     uint64        // 0: no limit
	patience time.Duration // time without any acquisition after which the lock is stuck
	threads  bool          // workers are locked to their threads

	interrupt func() // called if an acquisition fails or is stuck; nil does nothing
}

func (l limits) interrupted() {
	if l.interrupt != nil {
		l.interrupt()
	}
}

type stuckError struct {
	waiting  []string
	patience time.Duration
}

func (e *stuckError) Error() string {
	const shown = 8
	text := strings.Join(e.waiting[:min(len(e.waiting), shown)], ", ")
	if more := len(e.waiting) - shown; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return fmt.Sprintf("no acquisition for %v; unfinished: %s", e.patience, text)
}

type worker struct {
	uses atomic.Uint64
	done atomic.Bool
	_    [128]byte
}

type workerSet struct {
	workers []worker
	stop    atomic.Bool
	end     sync.Once
	err     error // the first failure of an acquisition
}

// A stopped is the panic of a step that failed. It ends the check, or a worker of [drive].
type stopped struct{ err error }

// errOver ends all workers of [drive] without a failure.
var errOver = errors.New("the check is over")

func must(err error) {
	if err != nil {
		panic(stopped{err})
	}
}

func fail(format string, args ...any) { must(fmt.Errorf(format, args...)) }

// recovered runs f and returns the error of the step that failed, or a panic of f as an
// error, such as an index error of a lock.
func recovered(f func()) (err error) {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case stopped:
			err = r.err
		default:
			err = fmt.Errorf("panic: %v\n%s", r, debug.Stack())
		}
	}()
	f()
	return nil
}

func within(what any, f func()) {
	if err := recovered(f); err != nil {
		fail("%v: %w", what, err)
	}
}

// drive starts n workers together, which repeat use until the limits, errOver or a failure end
// it. It returns each worker's acquisitions. It fails with the first failure, a stuckError if
// none progressed for limits.patience. A failure ends the context of acquisitions; workers
// stuck in a local lock stay behind.
func drive(ctx context.Context, n int, lim limits, use func(ctx context.Context, i int)) []uint64 {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	c := &workerSet{workers: make([]worker, n)}
	var wg sync.WaitGroup
	var ready atomic.Int64
	for i := range n {
		wg.Go(func() {
			if lim.threads {
				runtime.LockOSThread()
				defer runtime.UnlockOSThread()
			}
			ready.Add(1)
			for spins := 1; ready.Load() < int64(n); spins++ { // a channel would wake one after another
				if spins%64 == 0 {
					runtime.Gosched()
				}
			}
			c.work(ctx, i, lim, use, cancel)
		})
	}
	done := make(chan struct{})
	go func() { wg.Wait(); close(done) }()
	must(c.watch(lim, done))
	must(c.err)
	uses := make([]uint64, n)
	for i := range uses {
		uses[i] = c.workers[i].uses.Load()
	}
	return uses
}

func (c *workerSet) work(ctx context.Context, i int, lim limits, use func(context.Context, int), cancel func()) {
	w := &c.workers[i]
	defer w.done.Store(true)
	for k := uint64(0); !c.stop.Load() && (lim.uses == 0 || k < lim.uses); k++ {
		if err := recovered(func() { use(ctx, i) }); err != nil {
			c.end.Do(func() {
				if err != errOver {
					c.err = err
					lim.interrupted()
				}
			})
			c.stop.Store(true)
			cancel()
			return
		}
		w.uses.Store(k + 1)
	}
}

func (c *workerSet) watch(lim limits, done <-chan struct{}) error {
	var window <-chan time.Time
	if lim.window > 0 {
		window = time.After(lim.window)
	}
	ticks := time.Tick(min(lim.patience/8, 100*time.Millisecond))
	last, since := uint64(0), time.Now()
	for {
		select {
		case <-done:
			return nil
		case <-window:
			c.stop.Store(true)
		case <-ticks:
			if now := c.total(); now != last {
				last, since = now, time.Now()
			} else if time.Since(since) > lim.patience {
				c.stop.Store(true)
				lim.interrupted()
				return c.stuck(lim.patience)
			}
		}
	}
}

func (c *workerSet) total() (n uint64) {
	for i := range c.workers {
		n += c.workers[i].uses.Load()
	}
	return n
}

func (c *workerSet) stuck(patience time.Duration) error {
	e := &stuckError{patience: patience}
	for i := range c.workers {
		if w := &c.workers[i]; !w.done.Load() {
			e.waiting = append(e.waiting, fmt.Sprintf("worker %d after %d acquisitions", i, w.uses.Load()))
		}
	}
	return e
}

func liveness(ctx context.Context, s Subject) {
	uses, stay := uint64(40), runtime.Gosched // so that waiters queue up
	if isRemote(s.Variant) {
		uses, stay = 6, func() { time.Sleep(time.Millisecond) }
	}
	eachShape(ctx, s, func(r *rig) {
		r.lim.uses = uses
		r.drive(ctx, func(_ context.Context, i int) {
			r.visit(i, stay)
		})
	})
	if isRemote(s.Variant) {
		return
	}
	eachRound(ctx, s, func(r *rig) {
		r.drive(ctx, func(_ context.Context, i int) {
			acquireRelease(r.hs[i], false) // an empty section lets arrivals meet releases
			r.p.think(i)
		})
	})
}

func exclusion(ctx context.Context, s Subject) {
	eachRound(ctx, s, func(r *rig) { contend(ctx, r, new(inside), false) })
}

// firstUse makes two workers take many new locks at the same moment: a lock that sets itself up
// when it is first used may do that twice.
func firstUse(ctx context.Context, s Subject) {
	sh := shape{workers: atMost(s.Variant, 2)}
	for end := time.Now().Add(s.stress() / 4); time.Now().Before(end); {
		sh.once(ctx, s, limits{uses: 1}, false, func(r *rig) {
			var in inside
			r.drive(ctx, func(_ context.Context, i int) {
				r.p.workers[i].steps(1024) // none of them is always ahead
				visit(r.hs[i], &in, i, false, func() { shortHold(1) })
			})
		})
	}
}

func lostUpdate(ctx context.Context, s Subject) {
	eachRound(ctx, s, func(r *rig) {
		var n uint64 // plain memory, guarded only by the lock
		uses := r.drive(ctx, func(_ context.Context, i int) {
			r.visit(i, func() {
				seen := n
				r.hold(i)
				n = seen + 1
			})
		})
		compare(n, uses)
	})
}

func reuse(ctx context.Context, s Subject) {
	nestTwoLocks(ctx, s)
	times := 10
	if isRemote(s.Variant) {
		times = 2
	}
	eachShape(ctx, s, func(r *rig) {
		alone(ctx, s, isFree, func() {
			for range times { // first one handle repeatedly, then the handles alternately
				for _, h := range slices.Concat(slices.Repeat(r.hs[:1], 5), r.hs) {
					acquireRelease(h, false)
				}
			}
		})
	})
}

// nestTwoLocks also releases a lock in another goroutine: a handle belongs to none.
func nestTwoLocks(ctx context.Context, s Subject) {
	sh := shape{workers: atMost(s.Variant, 2)}
	a, b := sh.handles(ctx, s), sh.handles(ctx, s)
	for i := range a {
		for _, step := range []func(){a[i].Lock, b[i].Lock, a[i].Unlock, b[i].Unlock} { // each in a separate goroutine
			alone(ctx, s, "another lock is held, or another goroutine took this one: Lock or Unlock has not returned", step)
		}
	}
}

// checkPermits takes all permits, refuses the next worker, and lets workers contend.
func checkPermits(ctx context.Context, s Subject) {
	permits := s.Variant.Traits.Permits
	n := permits + 2
	if most := s.Variant.Traits.MaxWorkers; most > 0 && most < n {
		must(NotApplicable(fmt.Sprintf("no worker to refuse: the lock serves at most %d workers", most)))
	}
	sh := shape{workers: n, per: 2}
	within(sh, func() { countPermits(ctx, s, sh.all(ctx, s, n)) })
	if !isRemote(s.Variant) {
		permitsInBatches(ctx, s)
	}
	// All permits are free here: the workers contend for them.
	roundsOf(ctx, s, []shape{sh}, func(r *rig) {
		r.hs = sh.all(ctx, s, n)
		contend(ctx, r, &limit{permits: permits}, false)
	})
}

// A limit reports more workers inside than there are permits.
type limit struct {
	permits int
	inside  atomic.Int64
}

func (l *limit) write(_ int, stay func()) error {
	defer l.inside.Add(-1)
	if k := l.inside.Add(1); k > int64(l.permits) {
		return tooMany(k, l.permits)
	}
	stay()
	return nil
}

func (l *limit) read(int, func()) error { return errors.New("a lock with permits has no readers") }

func tooMany(got int64, permits int) error {
	return fmt.Errorf("%d workers hold a lock that claims %d permits", got, permits)
}

func countPermits(ctx context.Context, s Subject, hs []sync.Locker) {
	permits := max(1, s.Variant.Traits.Permits)
	next, more := hs[permits], tooMany(int64(permits)+1, permits)
	alone(ctx, s, permitsLeft, func() {
		for _, h := range hs[:permits] {
			h.Lock()
		}
		if try, ok := next.(harness.TryLocker); ok && try.TryLock() {
			must(more)
		}
	})
	shutOut(ctx, s, more.Error(), next.Lock, hs[0].Unlock)
	for _, h := range hs[1 : permits+1] {
		h.Unlock()
	}
}
