package redislock_test

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"locklab/harness"
	"locklab/redislock"
)

func micros(t time.Time) string { return strconv.FormatInt(t.UnixMicro(), 10) }

func queueRenewal(t *testing.T, at harness.Endpoint) {
	watch, key := dial(t, at), newKey()
	p := newPeer(t, at)
	const lease = 3 * time.Second
	began := time.Now()
	l := lock(t, p.Mutex(key, redislock.Options{TTL: lease}))
	value, before := owner(t, watch, key), p.counts()
	for p.counts() < before+3 {
		time.Sleep(10 * time.Millisecond)
		until, _ := l.Deadline()
		if !strings.Contains(until.String(), " m=") {
			t.Fatalf("the deadline is %v, without a reading of the monotonic clock", until)
		}
		if l.Err() != nil || until.After(time.Now().Add(lease)) {
			t.Fatalf("the lease ends in %v: %v", time.Until(until), l.Err())
		}
		if owner(t, watch, key) != value {
			t.Fatal("the server has lost it")
		}
	}
	if took := time.Since(began); took < lease/2 {
		t.Errorf("3 renewals in %v of a lease of %v", took, lease)
	}
	unlock(t, l)
}

func queueBatch(t *testing.T, at harness.Endpoint) {
	const n = 100
	p := newPeer(t, at)
	leases := make([]*redislock.Lease, n)
	for i := range leases {
		leases[i] = lock(t, p.Mutex(newKey(), redislock.Options{TTL: 3 * time.Second}))
	}
	before, calls := p.counts(), p.link.PoolStats()
	time.Sleep(1500 * time.Millisecond)
	requests := p.counts() - before
	now := p.link.PoolStats()
	batches := now.Hits + now.Misses - calls.Hits - calls.Misses
	t.Logf("%d renewals in %d batches", requests, batches)
	if requests < n || uint64(batches) > requests/2 {
		t.Errorf("%d renewals of %d leases went out in %d batches", requests, n, batches)
	}
	for _, l := range leases {
		unlock(t, l)
	}
}

func queueFixed(t *testing.T, at harness.Endpoint) {
	const lease = 500 * time.Millisecond
	watch, key := dial(t, at), newKey()
	m := newPeer(t, at).Mutex(key, redislock.Options{TTL: lease, HandoffTimeout: 100 * time.Millisecond, DisableRenewal: true})
	began := time.Now()
	l := lock(t, m)
	w := enqueue(t, watch, m)
	<-l.Done()
	between(t, "a lease", time.Since(began), lease-redislock.DefaultMargin-10*time.Millisecond, lease)
	next, came := w.lease(t)
	<-next.Done()
	between(t, "a lease that was handed over", time.Since(came), lease/2, lease)
	lost(t, l)
	lost(t, next)
}

func queueLinger(t *testing.T, at harness.Endpoint) {
	watch, key := dial(t, at), newKey()
	p := newPeer(t, at)
	m := p.Mutex(key, redislock.Options{})
	blocked := func() bool {
		list, err := watch.ClientList(t.Context()).Result()
		if err != nil {
			t.Skip("this server does not tell which clients are blocked: ", err)
		}
		for _, c := range p.mail.open() {
			for line := range strings.Lines(list) {
				if strings.Contains(line, " addr="+c.LocalAddr().String()+" ") && strings.Contains(line, "cmd=blpop") && strings.Contains(line, " flags=b ") {
					return true
				}
			}
		}
		return false
	}
	l := lock(t, m)
	w := enqueue(t, watch, m)
	eventually(t, "the process listens", blocked)
	left := time.Now() // the waiter leaves with the handover
	unlock(t, l)
	l, _ = w.lease(t)
	unlock(t, l)
	time.Sleep(100 * time.Millisecond)
	if !blocked() {
		t.Error("the process listens no more, right after the last waiter")
	}
	eventually(t, "the process does not listen", func() bool { return !blocked() })
	between(t, "the end of the reading", time.Since(left), 5*time.Second, 5*time.Second)
	l = lock(t, m)
	w = enqueue(t, watch, m)
	unlock(t, l)
	l, _ = w.lease(t)
	unlock(t, l)
	if left, err := watch.Keys(t.Context(), strings.NewReplacer("{", "\\{").Replace(key)+":~mail:*").Result(); err != nil || len(left) > 0 {
		t.Errorf("mailboxes that are left: %q, %v", left, err)
	}
}

func queueGrantRenewed(t *testing.T, at harness.Endpoint) {
	const lease, grant = time.Hour, 5 * time.Minute
	watch, key, o := dial(t, at), newKey(), redislock.Options{TTL: lease, HandoffTimeout: grant}
	l := lock(t, newPeer(t, at).Mutex(key, o))
	w := enqueue(t, watch, newPeer(t, at).Mutex(key, o))
	unlock(t, l)
	next, _ := w.lease(t)
	eventually(t, "it has a whole lease", func() bool { return time.Until(deadline(next)) > lease/2 })
	unlock(t, next)
}
