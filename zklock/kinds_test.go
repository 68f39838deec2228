package zklock_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"locklab/harness"
	"locklab/internal/faultproxy"
	wirezk "locklab/internal/wire/zookeeper"
	"locklab/zklock"
)

type taker func(context.Context) (*zklock.Lease, error)

type locker interface {
	zklock.Lockable
	TryLock(ctx context.Context) (*zklock.Lease, error)
}

// A kind opens its lock for one more contender; contenders exclude each other if there is one
// permit, unless they only read.
type kind struct {
	name   string
	open   func(c *zklock.Client, path string, permits int, o zklock.Options) locker
	alone  uint64 // requests of an acquisition
	traced string // a Trace's report of a wait behind another client
	counts bool   // it has permits
	reads  bool
}

const (
	byEvent = "queued 0, woken grant, granted, released"
	byLook  = "queued 0, woken message, granted, released"
)

var kinds = []kind{
	{name: "mutex", alone: 2, traced: byEvent, open: func(c *zklock.Client, path string, _ int, o zklock.Options) locker { return c.Mutex(path, o) }},
	{name: "owner", alone: 3, traced: byLook, open: func(c *zklock.Client, path string, _ int, o zklock.Options) locker {
		m := c.Reentrant(path, o)
		return owned{m, m.Owner()}
	}},
	{name: "writer", alone: 2, traced: byEvent, open: func(c *zklock.Client, path string, _ int, o zklock.Options) locker { return c.RWMutex(path, o) }},
	{name: "reader", alone: 3, traced: byEvent, reads: true, open: func(c *zklock.Client, path string, _ int, o zklock.Options) locker {
		return reader{c.RWMutex(path, o)}
	}},
	{name: "writer that owns", alone: 3, traced: byEvent, open: func(c *zklock.Client, path string, _ int, o zklock.Options) locker {
		return c.RWMutex(path, o).Owner()
	}},
	{name: "cohort", alone: 3, traced: "granted, released", open: func(c *zklock.Client, path string, _ int, o zklock.Options) locker {
		return c.Cohort(path, zklock.CohortOptions{Wait: o.Wait, MaxHold: o.MaxHold})
	}},
	{name: "cohort, local first", alone: 3, traced: "granted, released", open: func(c *zklock.Client, path string, _ int, o zklock.Options) locker {
		return c.Cohort(path, zklock.CohortOptions{Handovers: 2, LocalFirst: true, Wait: o.Wait, MaxHold: o.MaxHold})
	}},
	{name: "semaphore", alone: 3, traced: byLook, counts: true, open: func(c *zklock.Client, path string, permits int, o zklock.Options) locker {
		return c.Semaphore(path, permits, o)
	}},
	{name: "semaphore v2", alone: 6, traced: "queued -1, woken message, granted, released", counts: true, open: func(c *zklock.Client, path string, permits int, o zklock.Options) locker {
		return c.SemaphoreV2(path, permits, o)
	}},
	{name: "multi", alone: 4, traced: byEvent, open: func(c *zklock.Client, path string, _ int, o zklock.Options) locker {
		return c.Multi([]string{path + "-b", path + "-a"}, zklock.MultiOptions{Options: o})
	}},
}

type owned struct {
	*zklock.Reentrant
	*zklock.Owner
}

type reader struct{ m *zklock.RWMutex }

func (r reader) Lock(ctx context.Context) (*zklock.Lease, error)    { return r.m.RLock(ctx) }
func (r reader) TryLock(ctx context.Context) (*zklock.Lease, error) { return r.m.TryRLock(ctx) }

func (k kind) lock(c *zklock.Client, path string) locker { return k.open(c, path, 1, zklock.Options{}) }

func (k kind) rival(c *zklock.Client, path string) locker {
	if k.reads {
		return c.RWMutex(path, zklock.Options{})
	}
	return k.lock(c, path)
}

func (k kind) tracePath(path string) string {
	if k.name == "multi" {
		return path + "-a"
	}
	return path
}

// dirs are the nodes of a lock below or beside its path.
var dirs = []string{"", "-a", "-b", "/locks", "/leases"}

// A stage is a lock of some kind. If that has permits, it has two, and one is taken.
type stage struct {
	at   harness.Endpoint
	see  *wirezk.Conn
	path string
	open func(c *zklock.Client, path string) taker
}

func (k kind) perform(t *testing.T, at harness.Endpoint, path string, run func(*testing.T, *stage)) {
	s := &stage{at, dialRaw(t, at), path, func(c *zklock.Client, path string) taker { return k.open(c, path, 2, zklock.Options{}).Lock }}
	defer s.deserted(t)
	if k.counts {
		away := s.taker(t)
		defer unlockLease(t, acquireLock(t, away))
	}
	run(t, s)
}

func (s *stage) contender(t *testing.T, at harness.Endpoint, o zklock.ClientOptions) (*zklock.Client, taker) {
	c := dialServer(t, at, o)
	return c, s.open(c, s.path)
}

func (s *stage) taker(t *testing.T) taker {
	t.Helper()
	_, f := s.contender(t, s.at, zklock.ClientOptions{})
	return f
}

var hazards = []struct {
	name string
	run  func(*testing.T, *stage)
}{
	{"first waiter cancels", func(t *testing.T, s *stage) { oneCancels(t, s, 0) }},
	{"waiter in the middle cancels", func(t *testing.T, s *stage) { oneCancels(t, s, 1) }},
	{"waiter in the middle dies", oneDies},
	{"replies lost", repliesLost},
	{"ticket deleted unseen", deletedUnseen},
	{"release unanswered", releaseUnanswered},
	{"process stopped after the grant", stoppedAfterGrant},
	{"connection lost while waiting", cutInLine},
	{"sessions expire", bothExpire},
	{"client shut down", shutDown},
	{"client shut down while deletions are refused", shutDownRefused},
	{"client shut down while no server answers", shutDownSilent},
	{"nodes made again", madeAgain},
	{"session changes under a new ticket", sessionChanges},
	{"session changes before the watch", sessionChangesLate},
	{"deletions refused for a while", deletionsRefused},
	{"faults and cancelled waits", func(t *testing.T, s *stage) {
		disturbClients(t, s, func(c *zklock.Client, _ int) []taker { return []taker{s.open(c, s.path)} })
	}},
}

func TestKinds(t *testing.T) {
	t.Parallel()
	var tests []serverTest
	for _, h := range hazards {
		for _, k := range kinds {
			if !k.reads {
				tests = append(tests, serverTest{k.name + "/" + h.name, func(t *testing.T, at harness.Endpoint) { k.perform(t, at, newPath(), h.run) }})
			}
		}
	}
	runTogether(t, endpoint(t), tests)
}

func acquireLock[L any](t *testing.T, f func(context.Context) (L, error)) L {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	l, err := f(ctx)
	requireNoError(t, err)
	return l
}

// lockBehind waits for the lock in the background, and has most likely found its place.
func lockBehind(ctx context.Context, f taker) <-chan result {
	got := beginLock(ctx, f)
	time.Sleep(aWhile)
	return got
}

func (s *stage) deserted(t *testing.T) {
	t.Helper()
	waitUntil(t, "the queues are empty", func() bool { return len(s.tickets(t)) == 0 })
}

type ticket struct {
	path  string
	owner int64 // session
}

func (s *stage) tickets(t *testing.T) (all []ticket) {
	for _, dir := range dirs {
		for _, name := range listQueue(t, s.see, s.path+dir) {
			path := s.path + dir + "/" + name
			if _, stat, err := s.see.Exists(path); err == nil && stat.EphemeralOwner != 0 {
				all = append(all, ticket{path, stat.EphemeralOwner})
			}
		}
	}
	return all
}

func (s *stage) owned(t *testing.T, session int64) int {
	t.Helper()
	return len(slices.DeleteFunc(s.tickets(t), func(one ticket) bool { return one.owner != session }))
}

func oneCancels(t *testing.T, s *stage, waiter int) {
	a, b, c := s.taker(t), s.taker(t), s.taker(t)
	held := acquireLock(t, a)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ctxs := []context.Context{t.Context(), t.Context()}
	ctxs[waiter] = ctx
	waiters := []<-chan result{lockBehind(ctxs[0], b), lockBehind(ctxs[1], c)}
	cancel()
	expectError(t, (<-waiters[waiter]).err, context.Canceled)
	expectWaiting(t, waiters[1-waiter])
	handOver(t, held, waiters[1-waiter])
}

func oneDies(t *testing.T, s *stage) {
	a := s.taker(t)
	client, b := s.contender(t, s.at, zklock.ClientOptions{})
	c := s.taker(t)
	held, lost := acquireLock(t, a), lockNow(t, client.Mutex(newPath(), zklock.Options{}))
	middle, last := lockBehind(t.Context(), b), lockBehind(t.Context(), c)
	client.Close()
	expectError(t, (<-middle).err, zklock.ErrClosed)
	expectError(t, lockError(t.Context(), b), zklock.ErrClosed)
	expectLost(t, lost)
	handOver(t, held, last)
}

func repliesLost(t *testing.T, s *stage) {
	p := newProxy(t, s.at)
	f := s.open(dialServer(t, p.at, zklock.ClientOptions{}), s.path)
	unlockLease(t, acquireLock(t, f))
	before := len(s.tickets(t))
	p.loseReply()
	l := acquireLock(t, f)
	p.requireReplyLost(t)
	if mine := len(s.tickets(t)) - before; mine != 1 && mine != 2 { // the multi has two
		t.Errorf("%d tickets are there, want one or two", mine)
	}
	if p.Seen("sync") == 0 {
		t.Error("it looks for its ticket at a server that may lag behind")
	}
	p.loseReply()
	expectLost(t, l) // another might have deleted the ticket
}

// deletedUnseen: the ticket is deleted, and the answer to the first release is lost.
func deletedUnseen(t *testing.T, s *stage) {
	p := newProxy(t, s.at)
	a, b := s.open(dialServer(t, p.at, zklock.ClientOptions{}), s.path), s.taker(t)
	before := s.tickets(t)
	held := acquireLock(t, a)
	for _, one := range s.tickets(t) {
		if !slices.Contains(before, one) {
			deleteNode(t, s.see, one.path)
		}
	}
	next := acquireLock(t, b)
	p.loseReply()
	expectLost(t, held)
	unlockLease(t, next)
}

// releaseUnanswered: the lease is over at Unlock, however late the reply.
func releaseUnanswered(t *testing.T, s *stage) {
	p := newProxy(t, s.at)
	a, b := s.open(dialServer(t, p.at, zklock.ClientOptions{}), s.path), s.taker(t)
	held := acquireLock(t, a)
	p.Delay(faultproxy.Reply, time.Hour)
	unlocked := make(chan error, 1)
	go func() { unlocked <- held.Unlock(t.Context()) }()
	select {
	case <-held.Done():
	case err := <-unlocked:
		t.Fatalf("Unlock = %v, and Done is open", err)
	}
	if until, ok := held.Deadline(); !errors.Is(held.Err(), zklock.ErrReleased) || !ok || until.After(time.Now()) {
		t.Errorf("after Unlock began Err = %v, and %v are left", held.Err(), time.Until(until))
	}
	if err := <-unlocked; !errors.Is(err, zklock.ErrUnanswered) || strings.Contains(err.Error(), "/leases") {
		t.Errorf("Unlock = %v, want ErrUnanswered and the path of the lock", err)
	}
	expectExcluded(t, "the client", a)
	p.Delay(faultproxy.Reply, 0)
	p.cut()
	unlockLease(t, acquireLock(t, b))
}

// stoppedAfterGrant: a process that was stopped for longer than its session gets another lease.
func stoppedAfterGrant(t *testing.T, s *stage) {
	p := newProxy(t, s.at)
	c, f := s.contender(t, p.at, zklock.ClientOptions{SessionTimeout: 3 * time.Second})
	before := len(s.tickets(t))
	stopped := false
	zklock.StopAfterGrant(c, func() {
		stopped = true
		p.disconnect()
		waitUntil(t, "its session has expired", func() bool { return len(s.tickets(t)) == before })
		p.Refuse(false)
	})
	l := acquireLock(t, f)
	if until, ok := l.Deadline(); !stopped || !ok || l.Err() != nil || !until.After(time.Now()) {
		t.Errorf("stopped: %t; Lock returned a lease that was over: until %v, %v", stopped, time.Until(until), l.Err())
	}
	if len(s.tickets(t)) == before {
		t.Error("the lease has no ticket")
	}
	unlockLease(t, l)
}

func cutInLine(t *testing.T, s *stage) {
	p := newProxy(t, s.at)
	a, b := s.taker(t), s.open(dialServer(t, p.at, zklock.ClientOptions{}), s.path)
	held := acquireLock(t, a)
	next := lockBehind(t.Context(), b)
	p.disconnect()
	unlockLease(t, held) // while the waiter cannot receive it
	p.Refuse(false)
	unlockLease(t, awaitLease(t, next))
}

// bothExpire: the sessions of a holder and a waiter end at a silent server. The holder's lease
// ends before the next one gets the lock.
func bothExpire(t *testing.T, s *stage) {
	p, o := newProxy(t, s.at), zklock.ClientOptions{SessionTimeout: 2 * time.Second}
	a, b, c := s.open(dialServer(t, p.at, o), s.path), s.open(dialServer(t, p.at, o), s.path), s.taker(t)
	held := acquireLock(t, a)
	second, third := lockBehind(t.Context(), b), lockBehind(t.Context(), c)
	p.Partition(true)
	l := awaitLease(t, third)
	if !isDone(held.Done()) {
		t.Error("the next holder is in, and the lease before has not ended")
	}
	expectRisingTokens(t, held, l)
	expectLost(t, held)
	p.Partition(false)
	p.cut()
	handOver(t, l, second)
	unlockLease(t, acquireLock(t, a)) // in its next session
}
