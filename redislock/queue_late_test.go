package redislock_test

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"locklab/harness"
	"locklab/redislock"
)

func queueManyLate(t *testing.T, at harness.Endpoint) {
	const grant, clients, span = 300 * time.Millisecond, 100, time.Second
	watch, key := dial(t, at), newKey()
	p := newPeer(t, at)
	m := p.Mutex(key, redislock.Options{HandoffTimeout: grant})
	l := lock(t, newPeer(t, at).Mutex(key, redislock.Options{HandoffTimeout: grant}))
	startWaiters(t, watch, m, clients)
	before := p.link.Counts().Requests
	watch.RPush(t.Context(), key+":~mail:"+mailboxOf(t, watch, key), "GHOST:1 0 1 0") // written in 1970
	eventually(t, "the notification is read", func() bool { return p.link.Counts().Requests >= before+clients })
	before = p.link.Counts().Requests
	time.Sleep(span)
	asked := float64(p.link.Counts().Requests - before)
	want := 0.0
	for i := range clients {
		want += float64(span / (grant / 3 * time.Duration(i+1)))
	}
	t.Logf("%d waiters asked %.0f times in %v, by the rule %.0f", clients, asked, span, want)
	if asked < want/2 || asked > want*2 {
		t.Error("they do not keep to the rule")
	}
	unlock(t, l)
}

// queueLateToAnother: the late notification is for another waiter than the skipped ones.
func queueLateToAnother(t *testing.T, at harness.Endpoint) {
	watch, key := dial(t, at), newKey()
	o := redislock.Options{HandoffTimeout: 200 * time.Millisecond}
	slow, p := newPeer(t, at), newPeer(t, at)
	m := slow.Mutex(key, o)
	l := lock(t, p.Mutex(key, o))
	a, b := enqueue(t, watch, m), enqueue(t, watch, m)
	eventually(t, "the mailbox is read", func() bool { return slow.mail.Counts().Requests > 1 })
	// An old message is in the mailbox, because another is on its way.
	slow.mail.delay.Store(int64(600 * time.Millisecond))
	box := mailboxOf(t, watch, key)
	for range 2 {
		now, err := watch.Time(t.Context()).Result()
		requireNoError(t, err)
		watch.RPush(t.Context(), key+":~mail:"+box, box+":999 0 "+micros(now)+" 20000")
	}
	time.Sleep(300 * time.Millisecond)
	unlock(t, l)
	left := time.Now()
	if n := waiting(t, watch, key); n != 0 {
		t.Fatalf("the test shows nothing: %d waiters are still in the queue", n)
	}
	eventually(t, "they are back", func() bool { return waiting(t, watch, key) > 0 || owner(t, watch, key) != "" })
	slow.mail.delay.Store(0)
	// Both ask at the same time: either may be first.
	var came time.Time
	for range 2 {
		select {
		case g := <-a.got:
			a.got <- g
			l, came = a.lease(t)
		case g := <-b.got:
			b.got <- g
			l, came = b.lease(t)
		case <-time.After(patience):
			t.Fatal("no waiter is served")
		}
		unlock(t, l)
	}
	between(t, "coming back", came.Sub(left), 0, 1500*time.Millisecond)
}

func mailboxOf(t *testing.T, c *link, key string) string {
	t.Helper()
	all, err := c.ZRange(t.Context(), key+":~queue", 0, 0).Result()
	if err != nil || len(all) == 0 {
		t.Fatal("there are no waiters: ", err)
	}
	box, _, _ := strings.Cut(all[0], ":")
	return box
}

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
