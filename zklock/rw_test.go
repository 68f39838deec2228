package zklock_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"locklab/harness"
	"locklab/zklock"
)

func TestRW(t *testing.T) {
	t.Parallel()
	at := endpoint(t)
	atOnce(t, at, []serverTest{
		{"requests among readers", rwAmongReaders},
		{"requests of a reader behind writers", rwBehindWriters},
		{"a writer hands over", rwHandOver},
		{"exclusion and tokens", rwExcludes},
		{"readers share", rwShares},
		{"the nearest writer cancels", func(t *testing.T, at harness.Endpoint) { nearestWriterLeaves(t, at, false) }},
		{"the nearest writer dies", func(t *testing.T, at harness.Endpoint) { nearestWriterLeaves(t, at, true) }},
		{"try", rwTry},
		{"owner", rwOwner},
		{"downgrade", rwDowngrade},
		{"downgrade, a writer next", rwDowngradeHandsOver},
		{"downgrade after the write is lost", rwDowngradeLost},
		{"downgrade while the write ends", rwDowngradeEnds},
		{"name taken before the look", rwTakenBeforeLook},
		{"session changes before the watch", rwSessionChanges},
	})
}

func newRW(t *testing.T, at harness.Endpoint, path string) *zklock.RWMutex {
	t.Helper()
	return dial(t, at, zklock.ClientOptions{}).RWMutex(path, zklock.Options{})
}

// rwExcludes runs readers, writers and owners, some of which give up, by both rules for watches.
func rwExcludes(t *testing.T, at harness.Endpoint) {
	rwRush(t, at, func(c *zklock.Client, path string) *zklock.RWMutex { return c.RWMutex(path, zklock.Options{}) })
	rwRush(t, at, firstWriteRWMutex)
}

func rwRush(t *testing.T, at harness.Endpoint, open func(*zklock.Client, string) *zklock.RWMutex) {
	const clients, acquisitions = 4, 40
	path := newPath()
	shared := rwResource{t: t}
	var wg sync.WaitGroup
	for range clients {
		m := open(dial(t, at, zklock.ClientOptions{}), path)
		o := m.Owner()
		for _, worker := range []struct {
			lock   taker
			writes bool
			reads  taker // on, nil if it does not
		}{{m.Lock, true, nil}, {m.RLock, false, nil}, {m.RLock, false, nil}, {o.Lock, true, o.RLock}} {
			wg.Go(func() {
				for k := range acquisitions {
					ctx, cancel := t.Context(), func() {}
					if k%4 == 3 {
						ctx, cancel = context.WithTimeout(ctx, rand.N(10*time.Millisecond))
					}
					l, err := worker.lock(ctx)
					cancel()
					if err == nil {
						shared.use(l, worker.writes, worker.reads)
					} else if !errors.Is(err, context.DeadlineExceeded) {
						t.Error(err)
					}
				}
			})
		}
	}
	wg.Wait()
}

// use visits the resource under a lease and unlocks it, after reading on if reads is not nil.
func (r *rwResource) use(l *zklock.Lease, writes bool, reads taker) {
	r.visit(writes, l.Token())
	if reads != nil {
		read := acquire(r.t, reads)
		unlock(r.t, l)
		r.visit(false, read.Token())
		l = read
	}
	unlock(r.t, l)
}

type rwResource struct {
	t                *testing.T
	mu               sync.Mutex
	readers, writers int
	greatest, wrote  uint64 // tokens, of all and of writers
}

func (r *rwResource) visit(writes bool, token uint64) {
	r.mu.Lock()
	if writes {
		if r.writers++; r.writers > 1 || r.readers > 0 {
			r.t.Errorf("a writer is in with %d others and %d readers", r.writers-1, r.readers)
		}
		if token <= r.greatest {
			r.t.Errorf("a writer has token %d after %d", token, r.greatest)
		}
		r.wrote = max(r.wrote, token)
	} else {
		if r.readers++; r.writers > 0 {
			r.t.Errorf("a reader is in with %d writers", r.writers)
		}
		if token < r.wrote {
			r.t.Errorf("a reader has token %d after a writer's %d", token, r.wrote)
		}
	}
	r.greatest = max(r.greatest, token)
	r.mu.Unlock()
	time.Sleep(time.Millisecond)
	r.mu.Lock()
	defer r.mu.Unlock()
	if writes {
		r.writers--
	} else {
		r.readers--
	}
}

func rwShares(t *testing.T, at harness.Endpoint) {
	see, path := raw(t, at), newPath()
	a, b := newRW(t, at, path), newRW(t, at, path)
	first, second := acquire(t, a.RLock), acquire(t, b.RLock)
	writer := behind(t.Context(), b.Lock)
	awaitQueue(t, see, path, 3)
	late := behind(t.Context(), a.RLock) // no reader passes a writer
	unlock(t, second)
	expectWaiting(t, writer)
	unlock(t, first)
	l := awaitLease(t, writer)
	expectWaiting(t, late)
	unlock(t, l)
	unlock(t, awaitLease(t, late))
}

func nearestWriterLeaves(t *testing.T, at harness.Endpoint, dies bool) {
	see, path := raw(t, at), newPath()
	a := newRW(t, at, path)
	client := dial(t, at, zklock.ClientOptions{})
	b := client.RWMutex(path, zklock.Options{})
	c := newRW(t, at, path)
	held := acquire(t, a.Lock)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	nearest := behind(ctx, b.Lock)
	reader := behind(t.Context(), c.RLock)
	if dies {
		client.Close()
	} else {
		cancel()
	}
	if r := <-nearest; r.err == nil {
		t.Fatal("the writer got in")
	}
	awaitQueue(t, see, path, 2)
	expectWaiting(t, reader)
	unlock(t, held)
	unlock(t, awaitLease(t, reader))
	awaitQueue(t, see, path, 0)
}

func rwTry(t *testing.T, at harness.Endpoint) {
	path := newPath()
	a, b := newRW(t, at, path), newRW(t, at, path)
	err := zklock.Do(t.Context(), a.RLocker(), func(context.Context, *zklock.Lease) error {
		unlock(t, acquire(t, b.TryRLock))
		expectError(t, lockError(t.Context(), b.TryLock), zklock.ErrNotAcquired)
		return nil
	})
	requireNoError(t, err)
	unlock(t, acquire(t, b.TryLock))
}
