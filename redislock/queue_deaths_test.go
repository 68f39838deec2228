package redislock_test

import (
	"fmt"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"locklab/harness"
	"locklab/redislock"
)

// A death kills processes of a lock. h is the process of the holder, the digits are others.
type death struct {
	name    string
	waiters string        // the processes that wait, in order; the last one stays alive
	first   string        // these die before the others
	pause   time.Duration // after that
	unlock  bool          // the holder unlocks
	close   bool          // the holder closes its client
	die     string        // these die in the end
}

const deathLease, deathGrant = 2 * time.Second, 300 * time.Millisecond

var deaths = []death{
	{name: "holder", waiters: "1", die: "h"},
	{name: "holder that closes its client", waiters: "1", close: true},
	{name: "holder and first waiter", waiters: "12", die: "h1"},
	{name: "first waiter, and the holder after some renewals", waiters: "12", first: "1", pause: 2 * deathLease, die: "h"},
	{name: "the process of both", waiters: "hh1", die: "h"},
	{name: "the one that hands over and its successor", waiters: "12", first: "1", unlock: true, die: "h"},
	{name: "a process that hands over to itself", waiters: "h1", unlock: true, die: "h"},
}

var deathKinds = []string{"Mutex", "RWMutex", "Semaphore"}

// TestDeaths: the next waiter has the lock at most a lease and a grant timeout after deaths.
func TestDeaths(t *testing.T) {
	at := runParallel(t)
	var all errgroup.Group
	all.SetLimit(12) // they wait most of the time
	for i, d := range deaths {
		for j, kind := range deathKinds {
			all.Go(func() error {
				t.Run(fmt.Sprintf("%s/%s", d.name, kind), func(t *testing.T) {
					if testing.Short() && j == 1+i%2 { // the second and the third have the same scripts
						t.Skip("make test-all runs it")
					}
					d.run(t, at, kind)
				})
				return nil
			})
		}
	}
	_ = all.Wait() // no error: the tests report it
}

func (d death) run(t *testing.T, at harness.Endpoint, kind string) {
	watch, key := dial(t, at), newKey()
	processes := make(map[rune]*peer)
	lockOf := func(process rune) keyed {
		if processes[process] == nil {
			processes[process] = newPeer(t, at)
		}
		return kinds[kind](processes[process].Client, key, redislock.Options{TTL: deathLease, HandoffTimeout: deathGrant}).(keyed)
	}
	kill := func(which string) {
		for _, process := range which {
			processes[process].die()
		}
	}
	held := lock(t, lockOf('h'))
	var last *waiter
	for _, process := range d.waiters {
		last = enqueue(t, watch, lockOf(process))
		t.Cleanup(last.cancel)
	}
	kill(d.first)
	time.Sleep(d.pause)
	if d.unlock {
		unlock(t, held)
	}
	if d.close {
		requireNoError(t, processes['h'].Client.Close())
	}
	kill(d.die)
	died := time.Now()
	l, came := last.lease(t)
	between(t, "the next waiter", came.Sub(died), 0, deathLease+deathGrant)
	unlock(t, l)
}

// queueLeftPlace: a place that is left while the server is unreachable goes afterwards.
func queueLeftPlace(t *testing.T, at harness.Endpoint) {
	watch, key := dial(t, at), newKey()
	p := newPeer(t, at)
	l := lock(t, newPeer(t, at).Mutex(key, redislock.Options{}))
	w := enqueue(t, watch, p.Mutex(key, redislock.Options{}))
	p.link.redirect("-")
	w.withdraw(t)
	time.Sleep(unlockWait + 200*time.Millisecond) // longer than the retries of a Lock that gives up
	if n := waiting(t, watch, key); n != 1 {
		t.Fatalf("the test shows nothing: %d waiters are in the queue, want the one that could not leave", n)
	}
	p.link.redirect("")
	back := time.Now()
	eventually(t, "the place goes", func() bool { return waiting(t, watch, key) == 0 })
	between(t, "the place", time.Since(back), 0, time.Second)
	unlock(t, l)
}

// queueGrantToNone: a process gives back a lock that is handed to a waiter that gave up.
func queueGrantToNone(t *testing.T, at harness.Endpoint) {
	const grant = 8 * time.Second
	watch, key := dial(t, at), newKey()
	o := redislock.Options{HandoffTimeout: grant}
	p := newPeer(t, at)
	l := lock(t, newPeer(t, at).Mutex(key, o))
	gone := enqueue(t, watch, p.Mutex(key, o))
	next := enqueue(t, watch, newPeer(t, at).Mutex(key, o))
	p.link.redirect("-")
	gone.withdraw(t)
	unlock(t, l)
	eventually(t, "the waiter that has gone owns the lock", func() bool { return owner(t, watch, key) != "" })
	p.link.redirect("")
	left := time.Now()
	l, came := next.lease(t)
	between(t, "a handover past a waiter that has gone", came.Sub(left), 0, 2*time.Second)
	unlock(t, l)
}

// manyWaitersAsk: many waiters of a held lock ask about once a lease, not all at once.
func manyWaitersAsk(t *testing.T, at harness.Endpoint) {
	const lease, grant, clients, leases = 900 * time.Millisecond, 300 * time.Millisecond, 100, 4
	watch, key := dial(t, at), newKey()
	o := redislock.Options{TTL: lease, HandoffTimeout: grant}
	p := newPeer(t, at)
	m := p.Mutex(key, o)
	l := lock(t, newPeer(t, at).Mutex(key, o))
	startWaiters(t, watch, m, clients)
	before, began := p.link.Counts().Requests, time.Now()
	time.Sleep(leases * lease)
	each := float64(p.link.Counts().Requests-before) / clients / (time.Since(began).Seconds() / lease.Seconds())
	t.Logf("%d waiters asked %.2f times in each lease, each", clients, each)
	if each < 0.5 || each > 1.6 {
		t.Errorf("each waiter asked %.2f times in each lease, want 1 to 1.5", each)
	}
	expectNoError(t, l.Err())
	unlock(t, l)
}
