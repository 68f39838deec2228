package zklock_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"locklab/harness"
	locks "locklab/lock"
	"locklab/zklock"
)

// A timeline is the events of a Trace.
type timeline struct {
	mu     sync.Mutex
	events []any
	queued chan struct{}
}

func newTimeline() *timeline { return &timeline{queued: make(chan struct{}, 100)} }

func noteTo[E any](s *timeline) func(E) {
	return func(e E) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.events = append(s.events, e)
	}
}

func (s *timeline) trace() *zklock.Trace {
	queued := noteTo[locks.QueuedInfo](s)
	return &zklock.Trace{
		Queued: func(e locks.QueuedInfo) { queued(e); s.queued <- struct{}{} },
		Woken:  noteTo[locks.WokenInfo](s), Granted: noteTo[locks.GrantedInfo](s), Failed: noteTo[locks.FailedInfo](s),
		Renewed: noteTo[locks.RenewedInfo](s), RenewalFailed: noteTo[locks.RenewalFailedInfo](s),
		Released: noteTo[locks.ReleasedInfo](s), Lost: noteTo[locks.LostInfo](s),
	}
}

// eventsOf returns the events of one kind, since the last renewal if they are failures of it.
func eventsOf[E any](s *timeline) (all []E) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var kind E
	_, failures := any(kind).(locks.RenewalFailedInfo)
	for _, e := range s.events {
		if _, renewed := e.(locks.RenewedInfo); renewed && failures {
			all = nil
		}
		if e, ok := e.(E); ok {
			all = append(all, e)
		}
	}
	return all
}

// String returns the events except renewals.
func (s *timeline) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []string
	for _, e := range s.events {
		text := strings.ToLower(strings.TrimSuffix(reflect.TypeOf(e).Name(), "Info"))
		switch e := e.(type) {
		case locks.RenewedInfo, locks.RenewalFailedInfo:
			continue
		case locks.QueuedInfo:
			text += fmt.Sprint(" ", e.Ahead)
		case locks.WokenInfo:
			text += " " + string(e.Why)
		}
		all = append(all, text)
	}
	return strings.Join(all, ", ")
}

// want compares the timeline with the expected one, of the lock name and token, 0 for none.
func (s *timeline) want(t *testing.T, kind, want, name string, token uint64) {
	t.Helper()
	for end := time.Now().Add(patience); s.String() != want && time.Now().Before(end) && strings.HasPrefix(want, s.String()); {
		time.Sleep(time.Millisecond) // another goroutine reports a loss
	}
	expectEqual(t, kind+": the events of a Trace", s.String(), want)
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range s.events {
		v := reflect.ValueOf(e)
		if v.FieldByName("Name").String() != name {
			t.Errorf("%s: a Trace gets %+v, want the path %s", kind, e, name)
		}
		if f := v.FieldByName("Token"); f.IsValid() && f.Uint() != token {
			t.Errorf("%s: a Trace gets %+v, want the token %d", kind, e, token)
		}
	}
}

// TestTrace checks the events that a Trace gets from every kind of lock.
func TestTrace(t *testing.T) {
	runParallel(t, []serverTest{
		{"behind another", traceWait},
		{"once", traceOnce},
		{"of a client", traceClient},
		{"within a client", traceWithin},
		{"unconfirmed and lost", func(t *testing.T, at harness.Endpoint) {
			traceLoss(t, at, func(p *proxy) { p.Partition(true) }, "answered")
		}},
		{"cut off", func(t *testing.T, at harness.Endpoint) { traceLoss(t, at, (*proxy).disconnect, "zklock: ") }},
	})
}

// traceWait traces Locks behind another client: a TryLock, one that is cancelled, and one that
// gets the lock.
func traceWait(t *testing.T, at harness.Endpoint) {
	a, b := dialServer(t, at, zklock.ClientOptions{}), dialServer(t, at, zklock.ClientOptions{})
	for _, k := range kinds {
		path := newPath()
		tried, cancelled, served := newTimeline(), newTimeline(), newTimeline()
		begin := func(ctx context.Context, s *timeline) <-chan result {
			// A lock of its own: a Cohort may still withdraw from the wait that was cancelled.
			got := beginLock(zklock.WithTrace(ctx, s.trace()), k.lock(b, path).Lock)
			if strings.HasPrefix(k.traced, "queued") {
				select {
				case <-s.queued:
				case <-time.After(patience):
					t.Fatalf("%s: it does not report that it waits", k.name)
				}
			}
			return got
		}
		held := acquireLock(t, k.rival(a, path).Lock)
		expectError(t, lockError(zklock.WithTrace(t.Context(), tried.trace()), k.lock(b, path).TryLock), zklock.ErrNotAcquired)
		tried.want(t, k.name+", TryLock", "failed", k.tracePath(path), 0)

		ctx, cancel := context.WithCancel(t.Context())
		got := begin(ctx, cancelled)
		cancel()
		expectError(t, (<-got).err, context.Canceled)
		want := "failed"
		if queued, _, waits := strings.Cut(k.traced, ", woken"); waits {
			want = queued + ", failed"
		}
		cancelled.want(t, k.name, want, k.tracePath(path), 0)
		for _, e := range eventsOf[locks.FailedInfo](cancelled) {
			expectError(t, e.Err, context.Canceled)
		}

		got = begin(t.Context(), served)
		unlockLease(t, held)
		l := awaitLease(t, got)
		unlockLease(t, l)
		served.want(t, k.name, k.traced, k.tracePath(path), l.Token())
	}
}

// traceOnce: a waiter that waits several times is Queued once.
func traceOnce(t *testing.T, at harness.Endpoint) {
	a, b := dialServer(t, at, zklock.ClientOptions{}), dialServer(t, at, zklock.ClientOptions{})
	for _, k := range kinds {
		if !k.counts {
			continue
		}
		path, s := newPath(), newTimeline()
		held := acquireLock(t, k.lock(a, path).Lock)
		next := lockBehind(t.Context(), k.lock(b, path).Lock)
		last := lockBehind(zklock.WithTrace(t.Context(), s.trace()), k.lock(b, path).Lock)
		<-s.queued
		handOver(t, held, next, last) // it waits in its next queue meanwhile
		if told := s.String(); strings.Count(told, "queued") != 1 {
			t.Errorf("%s: the Trace gets %q, want one queued", k.name, told)
		}
	}
}

func traceClient(t *testing.T, at harness.Endpoint) {
	s, path := newTimeline(), newPath()
	m, first := dialServer(t, at, zklock.ClientOptions{Trace: s.trace()}).Mutex(path, zklock.Options{}), "not called"
	l, err := m.Lock(zklock.WithTrace(t.Context(), &zklock.Trace{Granted: func(locks.GrantedInfo) { first = s.String() }}))
	requireNoError(t, err)
	expectEqual(t, "the events before the Trace of the context gets the grant", first, "")
	unlockLease(t, l)
	s.want(t, "mutex", "granted, released", path, l.Token())
}

// traceWithin: waits behind goroutines of the same client.
func traceWithin(t *testing.T, at harness.Endpoint) {
	c, path := dialServer(t, at, zklock.ClientOptions{}), newPath()
	k := c.Cohort(path, zklock.CohortOptions{})
	held, s := acquireLock(t, k.Lock), []*timeline{newTimeline(), newTimeline()}
	var got []<-chan result
	for _, s := range s {
		got = append(got, beginLock(zklock.WithTrace(t.Context(), s.trace()), k.Lock))
		<-s.queued
	}
	for i, s := range s {
		unlockLease(t, held)
		held = awaitLease(t, got[i])
		s.want(t, "cohort", fmt.Sprintf("queued %d, granted", i), path, held.Token())
	}
	unlockLease(t, held)
}

// traceLoss spoils the link of a held lock of each kind after renewals, and checks the reports.
func traceLoss(t *testing.T, at harness.Endpoint, spoil func(*proxy), why string) {
	const timeout = 4 * time.Second // a busy machine may stall for a second
	p := newProxy(t, at)
	c := dialServer(t, p.at, zklock.ClientOptions{SessionTimeout: timeout})
	var held []*zklock.Lease
	var timelines []*timeline
	var names []string
	for _, k := range kinds {
		path, s := newPath(), newTimeline()
		l, err := k.lock(c, path).Lock(zklock.WithTrace(t.Context(), s.trace()))
		requireNoError(t, err)
		held, timelines, names = append(held, l), append(timelines, s), append(names, k.tracePath(path))
	}
	for _, s := range timelines {
		waitUntil(t, "the lease is renewed", func() bool { return len(eventsOf[locks.RenewedInfo](s)) > 0 })
	}
	spoil(p)
	for i, s := range timelines {
		waitUntil(t, "the lease is lost", func() bool { return len(eventsOf[locks.LostInfo](s)) > 0 })
		name, token := names[i], held[i].Token()
		renewed, failed, lost := eventsOf[locks.RenewedInfo](s)[0], eventsOf[locks.RenewalFailedInfo](s), eventsOf[locks.LostInfo](s)
		if len(failed) != 1 || len(lost) != 1 {
			t.Errorf("%s: failures of the renewal %+v and losses %+v, want 1 of each", name, failed, lost)
		} else if e := failed[0]; e.Name != name || e.Left <= 0 || e.Left >= timeout || !strings.Contains(e.Err.Error(), why) {
			t.Errorf("not renewed: %+v, want %s with something left and %q", e, name, why)
		} else if e := lost[0]; e.Name != name || e.Token != token || !errors.Is(e.Err, zklock.ErrLost) {
			t.Errorf("lost: %+v, want %s with token %d", e, name, token)
		}
		if renewed.Name != name || renewed.Token != token || renewed.Until.IsZero() {
			t.Errorf("renewed: %+v, want %s with token %d", renewed, name, token)
		}
	}
	err := fmt.Sprint(c.Shutdown(contextWithin(t, aWhile)))
	for _, name := range names {
		if !strings.Contains(err, name) {
			t.Errorf("Shutdown = %s, want %s, whose ticket may be left", err, name)
		}
	}
}
