package locktest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"locklab/harness"
	"locklab/harness/oracle"
)

// fencing judges the tokens of all holds in each shape.
func fencing(ctx context.Context, s Subject) {
	for _, sh := range shapes(s.Variant) {
		inFixture(ctx, s, func(r *fixture) {
			r.fill(sh.workers, sh.per)
			if vs := oracle.Tokens(r.holds(ctx), 1); len(vs) > 0 {
				fail("%s (%d times)", vs[0].Detail, vs[0].Count)
			}
		})
	}
}

// holds makes workers acquire the lock, and again if they give up, and returns all holds. Three of
// four are readers, if there are any, and three of four writers try the lock first.
func (r *fixture) holds(ctx context.Context) []oracle.Hold {
	n, epoch := len(r.sessions), time.Now()
	p, logs := newPattern(n, false), make([][]oracle.Hold, n)
	_, rw := r.sessions[0].(harness.RWSession)
	drive(ctx, n, r.s.limits(15), func(ctx context.Context, i int) {
		m := mode(rw && p.reads(i))
		h := oracle.Hold{Worker: i, Shared: bool(m), Requested: int64(time.Since(epoch))}
		short, cancel := context.WithTimeout(ctx, time.Duration(1+i)*2*time.Millisecond)
		defer cancel()
		lease, err := r.tryEnter(short, i, m, p.reads(i))
		if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, harness.ErrNotAcquired) {
			lease, err = r.enter(ctx, i, m)
		}
		if err != nil {
			fail("worker %d: %v: %w", i, m, err)
		}
		h.Acquired, h.Token = int64(time.Since(epoch)), lease.Token()
		time.Sleep(time.Millisecond)
		alive(lease)
		h.Releasing = int64(time.Since(epoch))
		logs[i] = append(logs[i], h)
		r.unlock(lease)
	})
	holds := slices.Concat(logs...)
	oracle.Sort(holds)
	return holds
}

func (r *fixture) tryEnter(ctx context.Context, i int, m mode, tries bool) (harness.Lease, error) {
	if s, ok := r.sessions[i].(harness.TrySession); ok && m == writing && tries {
		return s.TryLock(ctx)
	}
	return r.enter(ctx, i, m)
}

// readerCounts are numbers of readers on both sides of the limits of small counters.
var readerCounts = []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 15, 16, 17, 20, 31, 32, 33, 63, 64, 65, 127, 128, 129, 255, 256, 257, 511, 512, 513, 1023, 1024, 1025}

// readCount admits readers one by one. A writer must not enter before the last has left.
func readCount(ctx context.Context, s Subject) {
	most := atMost(s.Variant, readerCounts[len(readerCounts)-1]+1) - 1
	if isRemote(s.Variant) {
		most = min(most, throngs-1)
	}
	hs := shape{workers: most + 1, per: perClient}.handles(ctx, s)
	mustExcludeWriters(hs[0])
	for _, k := range readerCounts {
		if k <= most {
			within(fmt.Sprintf("%d readers", k), func() { writerBehind(ctx, s, hs[:k], hs[most]) })
		}
	}
}

// aBlink is how long a wrongly admitted writer may take to show it, many times a check.
const aBlink = 200 * time.Microsecond

// writerBehind makes a writer wait for readers that leave in order, or in reverse order
// if their number is odd.
func writerBehind(ctx context.Context, s Subject, readers []sync.Locker, writer sync.Locker) {
	blink := aBlink
	if isRemote(s.Variant) {
		blink = 2 * aMoment
	}
	asks, entered := make(chan struct{}), make(chan struct{})
	var inside atomic.Int64
	drive(ctx, 2, s.limits(1), func(ctx context.Context, i int) {
		if i == 1 {
			await(ctx, asks)
			writer.Lock()
			n := inside.Load()
			close(entered)
			writer.Unlock()
			if n > 0 {
				fail("a writer got the lock while %d of them were inside", n)
			}
			return
		}
		for _, h := range readers {
			h.(harness.RWLocker).RLock()
			inside.Add(1)
		}
		close(asks)
		early := false
		for k := range readers {
			if k < 5 || k > len(readers)-5 || len(readers)-k&(len(readers)-k-1) == 0 {
				early = early || opens(entered, blink)
			}
			if len(readers)%2 == 1 {
				k = len(readers) - 1 - k
			}
			inside.Add(-1)
			readers[k].(harness.RWLocker).RUnlock()
		}
		if early {
			fail("a writer got the lock while readers were inside")
		}
	})
}
