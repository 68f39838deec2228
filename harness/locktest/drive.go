package locktest

import (
	"context"
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

type limits struct {
	window   time.Duration // 0: no limit
	uses     uint64        // 0: no limit
	patience time.Duration // time without any acquisition after which the lock is stuck
	threads  bool          // workers are locked to their threads
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
	fail    sync.Once
	err     error // the first failure of an acquisition
}

// drive starts n workers together, which repeat use until the limits or a failure end it. It
// returns each worker's acquisitions and the first failure, a stuckError if none progressed
// for limits.patience. A failure ends the context of acquisitions; workers stuck in a local
// lock stay behind.
func drive(ctx context.Context, n int, lim limits, use func(ctx context.Context, i int) error) ([]uint64, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	c := &workerSet{workers: make([]worker, n)}
	var ready, wg sync.WaitGroup
	start := make(chan struct{})
	ready.Add(n)
	for i := range n {
		wg.Go(func() {
			ready.Done()
			<-start
			if lim.threads {
				runtime.LockOSThread()
				defer runtime.UnlockOSThread()
			}
			c.work(ctx, i, lim.uses, use, cancel)
		})
	}
	done := make(chan struct{})
	go func() { wg.Wait(); close(done) }()
	ready.Wait()
	close(start)
	if err := c.watch(lim, done); err != nil {
		return nil, err
	}
	uses := make([]uint64, n)
	for i := range uses {
		uses[i] = c.workers[i].uses.Load()
	}
	return uses, c.err
}

func (c *workerSet) work(ctx context.Context, i int, uses uint64, use func(context.Context, int) error, cancel func()) {
	w := &c.workers[i]
	defer w.done.Store(true)
	for k := uint64(0); !c.stop.Load() && (uses == 0 || k < uses); k++ {
		if err := recovered(func() error { return use(ctx, i) }); err != nil {
			c.fail.Do(func() { c.err = err })
			c.stop.Store(true)
			cancel()
			return
		}
		w.uses.Store(k + 1)
	}
}

// recovered turns a panic of f, such as an index error of a lock, into an error.
func recovered(f func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v\n%s", r, debug.Stack())
		}
	}()
	return f()
}

func (c *workerSet) watch(lim limits, done <-chan struct{}) error {
	var window <-chan time.Time
	if lim.window > 0 {
		window = time.After(lim.window)
	}
	tick := time.NewTicker(min(lim.patience/8, 100*time.Millisecond))
	defer tick.Stop()
	last, since := uint64(0), time.Now()
	for {
		select {
		case <-done:
			return nil
		case <-window:
			c.stop.Store(true)
		case <-tick.C:
			if now := c.total(); now != last {
				last, since = now, time.Now()
			} else if time.Since(since) > lim.patience {
				c.stop.Store(true)
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
