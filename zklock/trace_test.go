package zklock_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"locklab/harness"
	locks "locklab/lock"
	"locklab/zklock"
)

// A timeline is what a Trace has heard, but for renewals.
type timeline struct {
	mu     sync.Mutex
	heard  []string
	names  []string
	tokens []uint64
	err    error
	queued chan struct{}
}

func newTimeline() *timeline { return &timeline{queued: make(chan struct{}, 100)} }

func (s *timeline) note(name, what string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.heard, s.names = append(s.heard, what), append(s.names, name)
}

func (s *timeline) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Join(s.heard, ", ")
}

func (s *timeline) trace() *zklock.Trace {
	token := func(n uint64) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.tokens = append(s.tokens, n)
	}
	why := func(err error) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.err = err
	}
	return &zklock.Trace{
		Queued: func(e locks.QueuedInfo) {
			s.note(e.Name, fmt.Sprintf("queued %d", e.Ahead))
			s.queued <- struct{}{}
		},
		Woken:    func(e locks.WokenInfo) { s.note(e.Name, "woken "+string(e.Why)) },
		Granted:  func(e locks.GrantedInfo) { token(e.Token); s.note(e.Name, "granted") },
		Failed:   func(e locks.FailedInfo) { why(e.Err); s.note(e.Name, "failed") },
		Released: func(e locks.ReleasedInfo) { token(e.Token); s.note(e.Name, "released") },
		Lost:     func(e locks.LostInfo) { token(e.Token); why(e.Err); s.note(e.Name, "lost") },
	}
}

// want compares the timeline with the expected one, of the lock name and token, 0 for none.
func (s *timeline) want(t *testing.T, kind, want, name string, token uint64) {
	t.Helper()
	for end := time.Now().Add(patience); s.String() != want && time.Now().Before(end) && strings.HasPrefix(want, s.String()); {
		time.Sleep(time.Millisecond) // a loss is told by another goroutine
	}
	if got := s.String(); got != want {
		t.Errorf("%s: a Trace gets %q, want %q", kind, got, want)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if slices.ContainsFunc(s.names, func(n string) bool { return n != name }) {
		t.Errorf("%s: a Trace gets the path %q, want %s only", kind, s.names, name)
	}
	if slices.ContainsFunc(s.tokens, func(n uint64) bool { return n != token }) {
		t.Errorf("%s: a Trace gets the tokens %d, want %d only", kind, s.tokens, token)
	}
}

// TestTrace: what every kind of lock tells a Trace.
func TestTrace(t *testing.T) {
	t.Parallel()
	atOnce(t, endpoint(t), []serverTest{
		{"behind another", traceWait},
		{"in vain", traceFailed},
		{"once", traceOnce},
		{"of a client", traceClient},
		{"within a client", traceWithin},
		{"unconfirmed and lost", traceLost},
		{"cut off", traceCut},
	})
}

func traceWait(t *testing.T, at harness.Endpoint) {
	a, b := dial(t, at, zklock.ClientOptions{}), dial(t, at, zklock.ClientOptions{})
	for _, k := range kinds {
		path, s := newPath(), newTimeline()
		held := acquire(t, k.rival(a, path).Lock)
		got := begins(zklock.WithTrace(t.Context(), s.trace()), k.lock(b, path).Lock)
		if strings.HasPrefix(k.traced, "queued") {
			select {
			case <-s.queued:
			case <-time.After(patience):
				t.Fatalf("%s: it does not report that it waits", k.name)
			}
		}
		unlock(t, held)
		l := awaitLease(t, got)
		unlock(t, l)
		s.want(t, k.name, k.traced, k.path(path), l.Token())
	}
}

func traceFailed(t *testing.T, at harness.Endpoint) {
	a, b := dial(t, at, zklock.ClientOptions{}), dial(t, at, zklock.ClientOptions{})
	for _, k := range kinds {
		path, s := newPath(), newTimeline()
		held := acquire(t, k.rival(a, path).Lock)
		ctx, cancel := context.WithCancel(zklock.WithTrace(t.Context(), s.trace()))
		want := "failed"
		if queued, _, waits := strings.Cut(k.traced, ", woken"); waits {
			want = queued + ", failed"
		} else {
			s.queued <- struct{}{}
		}
		go func() { <-s.queued; cancel() }()
		expectError(t, lockError(ctx, k.lock(b, path).Lock), context.Canceled)
		s.want(t, k.name, want, k.path(path), 0)
		if !errors.Is(s.err, context.Canceled) {
			t.Errorf("%s: its Trace gets the error %v", k.name, s.err)
		}
		s = newTimeline()
		expectError(t, lockError(zklock.WithTrace(t.Context(), s.trace()), k.lock(b, path).TryLock), zklock.ErrNotAcquired)
		s.want(t, k.name+", TryLock", "failed", k.path(path), 0)
		unlock(t, held)
	}
}

// traceOnce: a waiter that waits several times is Queued once.
func traceOnce(t *testing.T, at harness.Endpoint) {
	a, b := dial(t, at, zklock.ClientOptions{}), dial(t, at, zklock.ClientOptions{})
	for _, k := range kinds {
		if !k.counts {
			continue
		}
		path, s := newPath(), []*timeline{newTimeline(), newTimeline()}
		held := acquire(t, k.lock(a, path).Lock)
		var got []<-chan result
		for _, s := range s {
			got = append(got, behind(zklock.WithTrace(t.Context(), s.trace()), k.lock(b, path).Lock))
			<-s.queued
		}
		unlock(t, held)
		for i, s := range s {
			held = awaitLease(t, got[i])
			time.Sleep(aWhile / 2) // the next one waits in its next queue
			unlock(t, held)
			if told := s.String(); strings.Count(told, "queued") != 1 {
				t.Errorf("%s: the Trace of waiter %d gets %q, want one queued", k.name, i, told)
			}
		}
	}
}

// traceClient: the Trace of the client gets the events of every kind, after the Trace of the context.
func traceClient(t *testing.T, at harness.Endpoint) {
	s := newTimeline()
	c := dial(t, at, zklock.ClientOptions{Trace: s.trace()})
	first := ""
	ctx := zklock.WithTrace(t.Context(), &zklock.Trace{Granted: func(locks.GrantedInfo) { first = s.String() }})
	for _, k := range kinds {
		path := newPath()
		s.heard, s.names, s.tokens = nil, nil, nil
		first = "not called"
		l, err := k.lock(c, path).Lock(ctx)
		requireNoError(t, err)
		if first != "" {
			t.Errorf("%s: the Trace of the context gets the grant after %q", k.name, first)
		}
		unlock(t, l)
		s.want(t, k.name, "granted, released", k.path(path), l.Token())
	}
}

// traceWithin: waits behind goroutines of the same client.
func traceWithin(t *testing.T, at harness.Endpoint) {
	c, path := dial(t, at, zklock.ClientOptions{}), newPath()
	k := c.Cohort(path, zklock.CohortOptions{})
	held, s := acquire(t, k.Lock), []*timeline{newTimeline(), newTimeline()}
	var got []<-chan result
	for _, s := range s {
		got = append(got, begins(zklock.WithTrace(t.Context(), s.trace()), k.Lock))
		<-s.queued
	}
	for i, s := range s {
		unlock(t, held)
		held = awaitLease(t, got[i])
		s.want(t, "cohort", fmt.Sprintf("queued %d, granted", i), path, held.Token())
	}
	unlock(t, held)
}

// A fading lease is no longer confirmed. A renewal restarts the count of the failures.
type fading struct {
	mu      sync.Mutex
	renewed []locks.RenewedInfo
	failed  []locks.RenewalFailedInfo
	lost    []locks.LostInfo
}

func (f *fading) trace() *zklock.Trace {
	return &zklock.Trace{
		Renewed: func(e locks.RenewedInfo) {
			f.mu.Lock()
			f.renewed, f.failed = append(f.renewed, e), nil
			f.mu.Unlock()
		},
		RenewalFailed: func(e locks.RenewalFailedInfo) { f.mu.Lock(); f.failed = append(f.failed, e); f.mu.Unlock() },
		Lost:          func(e locks.LostInfo) { f.mu.Lock(); f.lost = append(f.lost, e); f.mu.Unlock() },
	}
}

func (f *fading) counts() (renewed, failed, lost int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.renewed), len(f.failed), len(f.lost)
}

// fade spoils the link of a held lock of each kind after renewals, and checks the reports.
func fade(t *testing.T, at harness.Endpoint, spoil func(*proxy), says string) {
	const timeout = 4 * time.Second // a busy machine may stall for a second
	p := newProxy(t, at)
	c := dial(t, p.at, zklock.ClientOptions{SessionTimeout: timeout})
	held, told := make(map[string]*zklock.Lease), make(map[string]*fading)
	names := make(map[string]string)
	for _, k := range kinds {
		path, f := newPath(), new(fading)
		l, err := k.lock(c, path).Lock(zklock.WithTrace(t.Context(), f.trace()))
		requireNoError(t, err)
		held[k.name], told[k.name], names[k.name] = l, f, k.path(path)
	}
	for kind, f := range told {
		eventually(t, kind+" is renewed", func() bool { n, _, _ := f.counts(); return n > 0 })
	}
	spoil(p)
	for kind, f := range told {
		eventually(t, kind+" is lost", func() bool { _, _, n := f.counts(); return n > 0 })
		_, failed, lost := f.counts()
		if failed != 1 || lost != 1 {
			t.Errorf("%s: %d failures of the renewal and %d losses are told, want 1 of each", kind, failed, lost)
			continue
		}
		l, name := held[kind], names[kind]
		if e := f.renewed[0]; e.Name != name || e.Token != l.Token() || e.Until.IsZero() {
			t.Errorf("%s: renewed: %+v, want %s with token %d", kind, e, name, l.Token())
		}
		if e := f.failed[0]; e.Name != name || e.Left <= 0 || e.Left >= timeout || !strings.Contains(e.Err.Error(), says) {
			t.Errorf("%s: not renewed: %+v, want %s with something left and %q", kind, e, name, says)
		}
		if e := f.lost[0]; e.Name != name || e.Token != l.Token() || !errors.Is(e.Err, zklock.ErrLost) {
			t.Errorf("%s: lost: %+v, want %s with token %d", kind, e, name, l.Token())
		}
	}
}

func traceLost(t *testing.T, at harness.Endpoint) {
	fade(t, at, func(p *proxy) { p.Partition(true) }, "answered")
}

func traceCut(t *testing.T, at harness.Endpoint) {
	fade(t, at, func(p *proxy) { p.disconnect() }, "zklock: ")
}
