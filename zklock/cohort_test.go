package zklock_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"locklab/harness"
	"locklab/zklock"
)

func TestCohort(t *testing.T) {
	t.Parallel()
	at := endpoint(t)
	atOnce(t, at, []serverTest{
		{"hand-overs cost nothing", handoversAreFree},
		{"others are not starved", othersNotStarved},
		{"first in line gives up", firstGivesUp},
		{"middle of the line gives up", middleGivesUp},
		{"all waiters give up", allGiveUp},
		{"served while giving up", servedWhileGivingUp},
		{"try", tryCohort},
		{"session expires", cohortExpires},
		{"session expires before the hand-over", handsOverAfterExpiry},
		{"lost but not over", cohortSuspects},
		{"node removed", cohortNodeRemoved},
		{"client dies", cohortDies},
		{"storm", cohortStorm},
		{"refused", cohortRefused},
		{"close", closeCohort},
		{"Do and Locker", cohortDoes},
	})
}

func inLine(t *testing.T, ctx context.Context, k *zklock.Cohort, n int) <-chan result {
	t.Helper()
	got := make(chan result, 1)
	go func() {
		l, err := k.Lock(ctx)
		got <- result{l, err}
	}()
	eventually(t, "the line has the right length", func() bool { return k.Line() == n })
	return got
}

func lines(t *testing.T, k *zklock.Cohort, n int) (waiters []<-chan result) {
	t.Helper()
	for i := range n {
		waiters = append(waiters, inLine(t, t.Context(), k, i+1))
	}
	return waiters
}

func lockCohort(t *testing.T, k *zklock.Cohort) *zklock.Lease {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	l, err := k.Lock(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func handoversAreFree(t *testing.T, at harness.Endpoint) {
	see, c := raw(t, at), dial(t, at, zklock.ClientOptions{})
	k := c.Cohort(newPath(), zklock.CohortOptions{Handovers: 3})
	unlock(t, lockCohort(t, k)) // makes the parents
	before := counts(c)
	held := lockCohort(t, k)
	waiters := lines(t, k, 7)
	last := uint64(0)
	for i := range 8 {
		if held.Token() <= last {
			t.Errorf("holder %d has token %d after %d", i, held.Token(), last)
		}
		last = held.Token()
		unlock(t, held)
		if i < len(waiters) {
			held = take(t, waiters[i])
		}
	}
	if got, want := counts(c).Sub(before), (harness.Counts{Requests: 2 * 3}); got != want {
		t.Errorf("8 holders on 2 tickets cost %+v, want %+v", got, want)
	}
	queued(t, see, k.Path(), 0)
}

// othersNotStarved: a client with many waiters gives the lock up after its handovers.
func othersNotStarved(t *testing.T, at harness.Endpoint) {
	for _, o := range []zklock.CohortOptions{
		{Handovers: -1}, {Handovers: -1, LocalFirst: true}, {Handovers: 2}, {Handovers: 2, LocalFirst: true},
	} {
		see := raw(t, at)
		busy := dial(t, at, zklock.ClientOptions{}).Cohort(newPath(), o)
		other := dial(t, at, zklock.ClientOptions{}).Cohort(busy.Path(), o)
		held := lockCohort(t, busy)
		waiters := lines(t, busy, 6)
		first := inLine(t, t.Context(), other, 1)
		queued(t, see, busy.Path(), 2)
		unlock(t, held)
		token := held.Token()
		for i := range max(0, o.Handovers) {
			held = take(t, waiters[i])
			token = held.Token()
			empty(t, first)
			unlock(t, held)
		}
		held = take(t, first)
		if held.Token() <= token {
			t.Errorf("%+v: the other client has token %d after %d", o, held.Token(), token)
		}
		empty(t, waiters[max(0, o.Handovers)])
		unlock(t, held)
		for _, w := range waiters[max(0, o.Handovers):] {
			unlock(t, take(t, w))
		}
		queued(t, see, busy.Path(), 0)
	}
}

// firstGivesUp: the ticket is the client's, and keeps its place while a goroutine waits.
func firstGivesUp(t *testing.T, at harness.Endpoint) {
	see := raw(t, at)
	head := dial(t, at, zklock.ClientOptions{}).Mutex(newPath(), zklock.Options{})
	k := dial(t, at, zklock.ClientOptions{}).Cohort(head.Path(), zklock.CohortOptions{})
	held := lock(t, head)
	ctx, cancel := context.WithCancel(t.Context())
	first := inLine(t, ctx, k, 1)
	second := inLine(t, t.Context(), k, 2)
	before := queued(t, see, k.Path(), 2)
	cancel()
	if r := <-first; !errors.Is(r.err, context.Canceled) {
		t.Fatalf("Lock = %v, want %v", r.err, context.Canceled)
	}
	empty(t, second)
	if after := queue(t, see, k.Path()); !slices.Equal(before, after) {
		t.Errorf("the queue is %q, was %q", after, before)
	}
	unlock(t, held)
	unlock(t, take(t, second))
	queued(t, see, k.Path(), 0)
}

func middleGivesUp(t *testing.T, at harness.Endpoint) {
	see := raw(t, at)
	k := dial(t, at, zklock.ClientOptions{}).Cohort(newPath(), zklock.CohortOptions{})
	held := lockCohort(t, k)
	ctx, cancel := context.WithCancel(t.Context())
	first, middle, last := inLine(t, t.Context(), k, 1), inLine(t, ctx, k, 2), inLine(t, t.Context(), k, 3)
	cancel()
	if r := <-middle; !errors.Is(r.err, context.Canceled) {
		t.Fatalf("Lock = %v, want %v", r.err, context.Canceled)
	}
	empty(t, last)
	unlock(t, held)
	held = take(t, first)
	empty(t, last)
	unlock(t, held)
	unlock(t, take(t, last))
	queued(t, see, k.Path(), 0)
}

func allGiveUp(t *testing.T, at harness.Endpoint) {
	see := raw(t, at)
	head := dial(t, at, zklock.ClientOptions{}).Mutex(newPath(), zklock.Options{})
	k := dial(t, at, zklock.ClientOptions{}).Cohort(head.Path(), zklock.CohortOptions{})
	held := lock(t, head)
	for range 3 {
		ctx, cancel := context.WithCancel(t.Context())
		waiters := []<-chan result{inLine(t, ctx, k, 1), inLine(t, ctx, k, 2)}
		queued(t, see, k.Path(), 2)
		cancel()
		for _, w := range waiters {
			if r := <-w; !errors.Is(r.err, context.Canceled) {
				t.Fatalf("Lock = %v, want %v", r.err, context.Canceled)
			}
		}
	}
	queued(t, see, k.Path(), 1)
	next := inLine(t, t.Context(), k, 1)
	empty(t, next)
	queued(t, see, k.Path(), 2)
	unlock(t, held)
	unlock(t, take(t, next))
	queued(t, see, k.Path(), 0)
}

func servedWhileGivingUp(t *testing.T, at harness.Endpoint) {
	see := raw(t, at)
	k := dial(t, at, zklock.ClientOptions{}).Cohort(newPath(), zklock.CohortOptions{})
	zklock.ServeAndAbandon(k)
	unlock(t, lockCohort(t, k))
	queued(t, see, k.Path(), 0)
}

func tryCohort(t *testing.T, at harness.Endpoint) {
	see, c := raw(t, at), dial(t, at, zklock.ClientOptions{})
	k := c.Cohort(newPath(), zklock.CohortOptions{})
	other := dial(t, at, zklock.ClientOptions{}).Cohort(k.Path(), zklock.CohortOptions{})
	held, err := k.TryLock(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	before := counts(c)
	for _, k := range []*zklock.Cohort{k, other, k} {
		if _, err := k.TryLock(t.Context()); !errors.Is(err, zklock.ErrNotAcquired) {
			t.Errorf("TryLock of a held lock = %v, want ErrNotAcquired", err)
		}
	}
	if got := counts(c).Sub(before); got != (harness.Counts{}) {
		t.Errorf("TryLock behind one's own client costs %+v, want nothing", got)
	}
	next := inLine(t, t.Context(), k, 1)
	unlock(t, held) // TryLock took it
	unlock(t, take(t, next))
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := k.TryLock(ended); !errors.Is(err, context.Canceled) {
		t.Errorf("TryLock = %v, want %v", err, context.Canceled)
	}
	held = lockCohort(t, other) // the refused one has left nothing
	unlock(t, held)
	queued(t, see, k.Path(), 0)
}

func cohortExpires(t *testing.T, at harness.Endpoint) {
	p, see := newProxy(t, at), raw(t, at)
	k := dial(t, p.at, zklock.ClientOptions{SessionTimeout: time.Second}).Cohort(newPath(), zklock.CohortOptions{})
	held := lockCohort(t, k)
	waiters := lines(t, k, 2)
	p.refuse.Store(true)
	p.cut()
	queued(t, see, k.Path(), 0)
	p.refuse.Store(false)
	next := take(t, waiters[0])
	if next.Token() <= held.Token() {
		t.Errorf("token %d after %d", next.Token(), held.Token())
	}
	lost(t, held) // does not free the next holder's lock
	empty(t, waiters[1])
	unlock(t, next)
	unlock(t, take(t, waiters[1]))
	queued(t, see, k.Path(), 0)
}

// handsOverAfterExpiry: a ticket of an expired session cannot be handed on.
func handsOverAfterExpiry(t *testing.T, at harness.Endpoint) {
	k := dial(t, at, zklock.ClientOptions{}).Cohort(newPath(), zklock.CohortOptions{})
	handed, err := zklock.HandOverAfterExpiry(k)
	if handed || err != nil {
		t.Errorf("a ticket of an expired session is handed on: %t, %v", handed, err)
	}
}

// cohortSuspects: a holder that may have lost the lock blocks its client until Unlock.
func cohortSuspects(t *testing.T, at harness.Endpoint) {
	p, see := newProxy(t, at), raw(t, at)
	o := zklock.ClientOptions{SessionTimeout: 6 * time.Second, Margin: 2 * time.Second}
	k := dial(t, p.at, o).Cohort(newPath(), zklock.CohortOptions{})
	held := lockCohort(t, k)
	next := inLine(t, t.Context(), k, 1)
	p.silent.Store(true)
	<-held.Done()
	p.silent.Store(false)
	p.cut() // to the same session
	queued(t, see, k.Path(), 2)
	empty(t, next)
	lost(t, held)
	l := take(t, next)
	if l.Token() <= held.Token() {
		t.Errorf("token %d after %d", l.Token(), held.Token())
	}
	unlock(t, l)
	queued(t, see, k.Path(), 0)
}

func cohortNodeRemoved(t *testing.T, at harness.Endpoint) {
	see := raw(t, at)
	for _, o := range []zklock.CohortOptions{{Handovers: -1}, {Handovers: -1, LocalFirst: true}} {
		k := dial(t, at, zklock.ClientOptions{}).Cohort(newPath(), o)
		held := lockCohort(t, k)
		next := inLine(t, t.Context(), k, 1)
		if err := see.Delete(k.Path()+"/"+queue(t, see, k.Path())[0], -1); err != nil {
			t.Fatal(err)
		}
		lost(t, held)
		unlock(t, take(t, next))
		queued(t, see, k.Path(), 0)
	}
}

// cohortDies: a client that dies with the lock costs the others its session timeout only.
func cohortDies(t *testing.T, at harness.Endpoint) {
	p, see := newProxy(t, at), raw(t, at)
	o := zklock.ClientOptions{SessionTimeout: time.Second}
	k := dial(t, p.at, o).Cohort(newPath(), zklock.CohortOptions{})
	other := dial(t, at, zklock.ClientOptions{}).Cohort(k.Path(), zklock.CohortOptions{})
	lockCohort(t, k)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	inLine(t, ctx, k, 1)
	next := inLine(t, t.Context(), other, 1)
	queued(t, see, k.Path(), 2)
	p.refuse.Store(true)
	p.cut()
	unlock(t, take(t, next))
	queued(t, see, k.Path(), 0)
}

func cohortRefused(t *testing.T, at harness.Endpoint) {
	stranger := dial(t, at, zklock.ClientOptions{})
	unlock(t, lock(t, stranger.Mutex(newPath(), zklock.Options{}))) // the root is open to all
	owner := dial(t, at, zklock.ClientOptions{Username: user, Password: password})
	m := owner.Mutex(newPath(), zklock.Options{})
	unlock(t, lock(t, m))
	k := stranger.Cohort(m.Path(), zklock.CohortOptions{})
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			if _, err := k.Lock(t.Context()); !errors.Is(err, zk.ErrNoAuth) {
				t.Errorf("Lock = %v, want %v", err, zk.ErrNoAuth)
			}
		})
	}
	wg.Wait()
	if _, err := k.TryLock(t.Context()); !errors.Is(err, zk.ErrNoAuth) {
		t.Errorf("TryLock = %v, want %v", err, zk.ErrNoAuth)
	}
}

func closeCohort(t *testing.T, at harness.Endpoint) {
	see, c := raw(t, at), dial(t, at, zklock.ClientOptions{})
	k := c.Cohort(newPath(), zklock.CohortOptions{})
	held := lockCohort(t, k)
	waiters := lines(t, k, 3)
	c.Close()
	for _, w := range waiters {
		if r := <-w; !errors.Is(r.err, zklock.ErrClosed) {
			t.Errorf("waiting Lock = %v, want ErrClosed", r.err)
		}
	}
	for _, take := range []func(context.Context) (*zklock.Lease, error){k.Lock, k.TryLock} {
		if _, err := take(t.Context()); !errors.Is(err, zklock.ErrClosed) {
			t.Errorf("on a closed client: %v, want ErrClosed", err)
		}
	}
	lost(t, held)
	queued(t, see, k.Path(), 0)
}

func cohortDoes(t *testing.T, at harness.Endpoint) {
	k := dial(t, at, zklock.ClientOptions{}).Cohort(newPath(), zklock.CohortOptions{})
	mu := zklock.Locker(k)
	n := 0 // guarded by both
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 20 {
				err := zklock.Do(t.Context(), k, func(context.Context, *zklock.Lease) error { n++; return nil })
				if err != nil {
					t.Error(err)
				}
				mu.Lock()
				n++
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	if n != 8*20*2 {
		t.Errorf("%d increments, want %d", n, 8*20*2)
	}
}
