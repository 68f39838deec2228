package redislock_test

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"locklab/harness"
	"locklab/redislock"
)

// A departure is a way in which a holder leaves a lock to dead waiters, and a live one behind them.
type departure struct {
	name        string
	kind        string
	dead        []string // the waiters
	o           redislock.Options
	leave       func(t *testing.T, p *peer, m keyed, l *redislock.Lease)
	least, most float64 // grant timeouts until the live waiter has the lock
	retries     int     // of the client library
}

var departures = []departure{
	{"dead waiter", "Mutex", []string{"GHOST:1"}, redislock.Options{}, leaveByUnlock, .9, 1, -1},
	{"dead waiters of one process", "Mutex", []string{"GHOST:1", "GHOST:2", "GHOST:3", "GHOST:4"}, redislock.Options{}, leaveByUnlock, .9, 1, -1},
	{"dead waiters of two processes", "Mutex", []string{"GHOST:1", "OTHER:1", "GHOST:2", "OTHER:2"}, redislock.Options{}, leaveByUnlock, 1.9, 2, -1},
	{"dead writers", "RWMutex", []string{"GHOST:1:1", "GHOST:2:1"}, redislock.Options{}, leaveByUnlock, .9, 1, -1},
	{"the one that handed over leaves", "Mutex", []string{"GHOST:1"}, redislock.Options{}, func(t *testing.T, p *peer, _ keyed, l *redislock.Lease) {
		unlockLease(t, l)
		requireNoError(t, p.Client.Close())
	}, .4, 1, -1},
	{"Unlock past the lease", "Mutex", []string{"GHOST:1"}, redislock.Options{TTL: 700 * time.Millisecond, DisableRenewal: true}, func(t *testing.T, _ *peer, _ keyed, l *redislock.Lease) {
		<-l.Done()
		time.Sleep(100 * time.Millisecond) // the lease is over in the server too
		requireLost(t, l)
	}, .5, 1, -1}, // the waiter may have asked before
	{"lost reply to Unlock, repeated by us", "Mutex", []string{"GHOST:1"}, redislock.Options{}, leaveByLostReply, .4, 1, -1},
	{"lost reply to Unlock, repeated by the library", "Mutex", []string{"GHOST:1"}, redislock.Options{}, leaveByLostReply, .4, 1, 3},
	{"TryLock past the lease", "Mutex", []string{"GHOST:1"}, redislock.Options{TTL: time.Hour}, func(t *testing.T, p *peer, m keyed, _ *redislock.Lease) {
		p.link.client.Del(t.Context(), m.Name())
		requireTaken(t, "it has handed the lock over", m.(tryLocker))
	}, .4, 1, -1},
	{"force", "Mutex", nil, redislock.Options{}, leaveByForce, -2, 0, -1},
	{"force, dead waiter", "Mutex", []string{"GHOST:1"}, redislock.Options{}, leaveByForce, 0, 1, -1},
}

func leaveByUnlock(t *testing.T, _ *peer, _ keyed, l *redislock.Lease) { unlockLease(t, l) }

func leaveByLostReply(t *testing.T, p *peer, _ keyed, l *redislock.Lease) {
	p.lose.Store(1)
	requireLost(t, l)
}

func leaveByForce(t *testing.T, _ *peer, m keyed, l *redislock.Lease) {
	if freed, err := m.(forcer).ForceUnlock(t.Context()); !freed || err != nil {
		t.Errorf("ForceUnlock = %t, %v", freed, err)
	}
	requireLost(t, l)
}

func (d departure) run(t *testing.T, at harness.Endpoint) {
	const grant = 600 * time.Millisecond
	d.o.HandoffTimeout = grant
	watch, key := dialServer(t, at), newKey()
	lockOf := func(p *peer) keyed { return kinds[d.kind](p.Client, key, d.o).(keyed) }
	p := newPeer(t, at, func(o *redis.Options) { o.MaxRetries = d.retries })
	m := lockOf(p)
	l := lockNow(t, m)
	w := enqueueWaiter(t, watch, lockOf(newPeer(t, at)))
	addDeadWaiters(t, watch, key, d.dead...)
	d.leave(t, p, m, l)
	left := time.Now()
	next, came := w.lease(t)
	requireBetween(t, "the live waiter", came.Sub(left), time.Duration(d.least*float64(grant)), time.Duration(d.most*float64(grant)))
	unlockLease(t, next)
}

func queueCancelMiddle(t *testing.T, at harness.Endpoint) {
	watch, key := dialServer(t, at), newKey()
	m := newPeer(t, at).Mutex(key, redislock.Options{})
	l := lockNow(t, m)
	a, b, c := enqueueWaiter(t, watch, m), enqueueWaiter(t, watch, m), enqueueWaiter(t, watch, m)
	b.withdraw(t)
	if n := countWaiting(t, watch, key); n != 2 {
		t.Errorf("%d waiters are in the queue, want 2", n)
	}
	for _, w := range []*waiter{a, c} {
		unlockLease(t, l)
		left := time.Now()
		var came time.Time
		l, came = w.lease(t)
		requireBetween(t, "a handover", came.Sub(left), -time.Second, 0)
	}
	unlockLease(t, l)
}

func retryThrice(o *redis.Options) { o.MaxRetries = 3 }

// queueLateToAnother: the late notification is for another waiter than the skipped ones.
func queueLateToAnother(t *testing.T, at harness.Endpoint) {
	watch, key := dialServer(t, at), newKey()
	o := redislock.Options{HandoffTimeout: 200 * time.Millisecond}
	slow, p := newPeer(t, at), newPeer(t, at)
	m := slow.Mutex(key, o)
	l := lockNow(t, p.Mutex(key, o))
	a, b := enqueueWaiter(t, watch, m), enqueueWaiter(t, watch, m)
	waitUntil(t, "the mailbox is read", func() bool { return slow.mail.Counts().Requests > 1 })
	// An old message is in the mailbox, because another is on its way.
	slow.mail.delay.Store(int64(600 * time.Millisecond))
	box := mailboxOf(t, watch, key)
	for range 2 {
		now, err := watch.client.Time(t.Context()).Result()
		requireNoError(t, err)
		watch.client.RPush(t.Context(), key+":~mail:"+box, box+":999 0 "+micros(now)+" 20000")
	}
	time.Sleep(300 * time.Millisecond)
	unlockLease(t, l)
	left := time.Now()
	if n := countWaiting(t, watch, key); n != 0 {
		t.Fatalf("the test shows nothing: %d waiters are still in the queue", n)
	}
	waitUntil(t, "they are back", func() bool { return countWaiting(t, watch, key) > 0 || ownerOf(t, watch, key) != "" })
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
		unlockLease(t, l)
	}
	requireBetween(t, "coming back", came.Sub(left), 0, 1500*time.Millisecond)
}

func mailboxOf(t *testing.T, c *link, key string) string {
	t.Helper()
	all, err := c.client.ZRange(t.Context(), key+":~queue", 0, 0).Result()
	if err != nil || len(all) == 0 {
		t.Fatal("there are no waiters: ", err)
	}
	box, _, _ := strings.Cut(all[0], ":")
	return box
}

func micros(t time.Time) string { return strconv.FormatInt(t.UnixMicro(), 10) }

func queueFixed(t *testing.T, at harness.Endpoint) {
	const lease = 500 * time.Millisecond
	watch, key := dialServer(t, at), newKey()
	m := newPeer(t, at).Mutex(key, redislock.Options{TTL: lease, HandoffTimeout: 100 * time.Millisecond, DisableRenewal: true})
	began := time.Now()
	l := lockNow(t, m)
	w := enqueueWaiter(t, watch, m)
	<-l.Done()
	requireBetween(t, "a lease", time.Since(began), lease-redislock.DefaultMargin-10*time.Millisecond, lease)
	next, came := w.lease(t)
	<-next.Done()
	requireBetween(t, "a lease that was handed over", time.Since(came), lease/2, lease)
	requireLost(t, l)
	requireLost(t, next)
}

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
	tests := make(map[string]func(*testing.T))
	for i, d := range deaths {
		for j, kind := range deathKinds {
			tests[d.name+"/"+kind] = func(t *testing.T) {
				if testing.Short() && j == 1+i%2 { // the second and the third have the same scripts
					t.Skip("make test-all runs it")
				}
				d.run(t, at, kind)
			}
		}
	}
	runConcurrently(t, 12, tests) // they wait most of the time
}

func (d death) run(t *testing.T, at harness.Endpoint, kind string) {
	watch, key := dialServer(t, at), newKey()
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
	held := lockNow(t, lockOf('h'))
	var last *waiter
	for _, process := range d.waiters {
		last = enqueueWaiter(t, watch, lockOf(process))
		t.Cleanup(last.cancel)
	}
	kill(d.first)
	time.Sleep(d.pause)
	if d.unlock {
		unlockLease(t, held)
	}
	if d.close {
		requireNoError(t, processes['h'].Client.Close())
	}
	kill(d.die)
	died := time.Now()
	l, came := last.lease(t)
	requireBetween(t, "the next waiter", came.Sub(died), 0, deathLease+deathGrant)
	unlockLease(t, l)
}

// queueLeftPlace: a place that is left while the server is unreachable goes afterwards.
func queueLeftPlace(t *testing.T, at harness.Endpoint) {
	watch, key := dialServer(t, at), newKey()
	p := newPeer(t, at)
	l := lockNow(t, newPeer(t, at).Mutex(key, redislock.Options{}))
	w := enqueueWaiter(t, watch, p.Mutex(key, redislock.Options{}))
	p.link.redirect("-")
	w.withdraw(t)
	time.Sleep(unlockWait + 200*time.Millisecond) // longer than the retries of a Lock that gives up
	if n := countWaiting(t, watch, key); n != 1 {
		t.Fatalf("the test shows nothing: %d waiters are in the queue, want the one that could not leave", n)
	}
	p.link.redirect("")
	back := time.Now()
	waitUntil(t, "the place goes", func() bool { return countWaiting(t, watch, key) == 0 })
	requireBetween(t, "the place", time.Since(back), 0, time.Second)
	unlockLease(t, l)
}

// queueGrantToNone: a process gives back a lock that is handed to a waiter that gave up.
func queueGrantToNone(t *testing.T, at harness.Endpoint) {
	const grant = 8 * time.Second
	watch, key := dialServer(t, at), newKey()
	o := redislock.Options{HandoffTimeout: grant}
	p := newPeer(t, at)
	l := lockNow(t, newPeer(t, at).Mutex(key, o))
	gone := enqueueWaiter(t, watch, p.Mutex(key, o))
	next := enqueueWaiter(t, watch, newPeer(t, at).Mutex(key, o))
	p.link.redirect("-")
	gone.withdraw(t)
	unlockLease(t, l)
	waitUntil(t, "the waiter that has gone owns the lock", func() bool { return ownerOf(t, watch, key) != "" })
	p.link.redirect("")
	left := time.Now()
	l, came := next.lease(t)
	requireBetween(t, "a handover past a waiter that has gone", came.Sub(left), 0, 2*time.Second)
	unlockLease(t, l)
}

// manyWaitersAsk: many waiters of a held lock ask about once a lease, not all at once.
func manyWaitersAsk(t *testing.T, at harness.Endpoint) {
	const lease, grant, clients, leases = 900 * time.Millisecond, 300 * time.Millisecond, 100, 4
	watch, key := dialServer(t, at), newKey()
	o := redislock.Options{TTL: lease, HandoffTimeout: grant}
	p := newPeer(t, at)
	m := p.Mutex(key, o)
	l := lockNow(t, newPeer(t, at).Mutex(key, o))
	startWaiters(t, watch, m, clients)
	before, began := p.link.Counts().Requests, time.Now()
	time.Sleep(leases * lease)
	each := float64(p.link.Counts().Requests-before) / clients / (time.Since(began).Seconds() / lease.Seconds())
	t.Logf("%d waiters asked %.2f times in each lease, each", clients, each)
	if each < 0.5 || each > 1.6 {
		t.Errorf("each waiter asked %.2f times in each lease, want 1 to 1.5", each)
	}
	expectNoError(t, l.Err())
	unlockLease(t, l)
}
