package redislock_test

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"locklab/harness"
	"locklab/redislock"
)

// queueLateLetters: each letter to a process comes after its grant timeout. It
// gets the lock when no other process wants it.
func queueLateLetters(t *testing.T, at harness.Endpoint) {
	const grant, delay = 100 * time.Millisecond, 150 * time.Millisecond
	key := newKey()
	slow, fast := newPeer(t, at), newPeer(t, at)
	o := redislock.Options{Lease: 2 * time.Second, Grant: grant}
	slow.mail.delay.Store(int64(delay))
	long, stop := context.WithCancel(t.Context())
	defer stop()
	short, stopFast := context.WithTimeout(long, 1500*time.Millisecond)
	defer stopFast()
	var inside, slowTurns, fastTurns atomic.Int32
	var slowAll, fastAll sync.WaitGroup
	late, early := slow.Mutex(key, o), fast.Mutex(key, o) // of several late ones none might get on
	for i := range 6 {
		m, turns, ctx, all := early, &fastTurns, short, &fastAll
		if i < 3 {
			m, turns, ctx, all = late, &slowTurns, long, &slowAll
		}
		all.Go(func() {
			for {
				l, err := m.Lock(ctx)
				if err != nil {
					return
				}
				if until, _ := l.Deadline(); !time.Now().Before(until) && l.Err() == nil {
					t.Error("a lease has begun late")
				}
				if inside.Add(1) != 1 {
					t.Error("two are inside")
				}
				time.Sleep(time.Millisecond)
				inside.Add(-1)
				turns.Add(1)
				l.Unlock(ctx)
			}
		})
	}
	fastAll.Wait()
	crowded := slowTurns.Load()
	const some = 20
	eventually(t, "the slow process gets on when it is alone", func() bool { return slowTurns.Load() >= crowded+some })
	stop()
	slowAll.Wait()
	slow.mail.delay.Store(0)
	t.Logf("turns of the slow process beside the fast one and alone, and of the fast one: %d, %d, %d", crowded, slowTurns.Load()-crowded, fastTurns.Load())
	if fastTurns.Load() < 10 {
		t.Error("the fast process does not get on")
	}
}

// queueLateNews: the letter that is read late is none that grants the lock, and
// for another waiter than those that were left out because of it.
func queueLateNews(t *testing.T, at harness.Endpoint) {
	watch, key := dial(t, at), newKey()
	o := redislock.Options{Grant: 200 * time.Millisecond}
	slow, p := newPeer(t, at), newPeer(t, at)
	m := slow.Mutex(key, o)
	l := lock(t, p.Mutex(key, o))
	a, b := enqueue(t, watch, m), enqueue(t, watch, m)
	eventually(t, "somebody reads", func() bool { return slow.mail.Counts().Requests > 1 })
	// An old message lies in the mailbox, because another is under way.
	slow.mail.delay.Store(int64(600 * time.Millisecond))
	box := mailboxOf(t, watch, key)
	for range 2 {
		now, err := watch.Time(t.Context()).Result()
		if err != nil {
			t.Fatal(err)
		}
		watch.RPush(t.Context(), key+":mail:"+box, box+":999 0 "+micros(now)+" 20000")
	}
	time.Sleep(300 * time.Millisecond)
	unlock(t, l)
	left := time.Now()
	if n := waiting(t, watch, key); n != 0 {
		t.Fatalf("the test shows nothing: %d waiters are still in the queue", n)
	}
	eventually(t, "they are back", func() bool { return waiting(t, watch, key) > 0 || owner(t, watch, key) != "" })
	slow.mail.delay.Store(0)
	// Both ask at the same time: either is the first.
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
			t.Fatal("nobody is served")
		}
		unlock(t, l)
	}
	between(t, "coming back", came.Sub(left), 0, 1500*time.Millisecond)
}

func mailboxOf(t *testing.T, c *link, key string) string {
	t.Helper()
	all, err := c.ZRange(t.Context(), key+":queue", 0, 0).Result()
	if err != nil || len(all) == 0 {
		t.Fatal("nobody waits: ", err)
	}
	box, _, _ := strings.Cut(all[0], ":")
	return box
}
