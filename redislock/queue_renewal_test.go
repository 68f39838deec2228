package redislock_test

import (
	"strconv"
	"testing"
	"time"

	"locklab/harness"
	"locklab/redislock"
)

func micros(t time.Time) string { return strconv.FormatInt(t.UnixMicro(), 10) }

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
