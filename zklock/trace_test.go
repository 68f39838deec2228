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
	"locklab/zklock"
)

// tracedPaths are the paths of lockables, as a Trace is told them.
var tracedPaths = map[string]string{
	"mutex": "", "owner": "/reentrant", "reentrant": "/reentrant", "writer": "/rw", "reader": "/rw",
	"writer owner": "/rw", "semaphore": "/semaphore", "semaphore v2": "/v2", "multi": "/m/a", "cohort": "/cohort",
}

// waitTold is a Trace's report of a Lock behind another client's.
var waitTold = map[string]string{
	"mutex": "queued 0, woken grant, granted, released", "multi": "queued 0, woken grant, granted, released",
	"owner": "queued 0, woken message, granted, released", "reentrant": "queued 0, woken message, granted, released",
	"writer": "queued 0, woken grant, granted, released", "writer owner": "queued 0, woken grant, granted, released",
	"reader":       "queued 0, woken grant, granted, released",
	"semaphore":    "queued 0, woken message, granted, released",
	"semaphore v2": "queued -1, woken message, granted, released",
	"cohort":       "granted, released",
}

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
		Queued: func(e zklock.QueuedInfo) {
			s.note(e.Name, fmt.Sprintf("queued %d", e.Ahead))
			s.queued <- struct{}{}
		},
		Woken:    func(e zklock.WokenInfo) { s.note(e.Name, "woken "+string(e.Why)) },
		Granted:  func(e zklock.GrantedInfo) { token(e.Token); s.note(e.Name, "granted") },
		Failed:   func(e zklock.FailedInfo) { why(e.Err); s.note(e.Name, "failed") },
		Released: func(e zklock.ReleasedInfo) { token(e.Token); s.note(e.Name, "released") },
		Lost:     func(e zklock.LostInfo) { token(e.Token); why(e.Err); s.note(e.Name, "lost") },
	}
}

// want compares the timeline with the expected one, of the lock name and token, 0 for none.
func (s *timeline) want(t *testing.T, kind, want, name string, token uint64) {
	t.Helper()
	for end := time.Now().Add(patience); s.String() != want && time.Now().Before(end) && strings.HasPrefix(want, s.String()); {
		time.Sleep(time.Millisecond) // a loss is told by another goroutine
	}
	if got := s.String(); got != want {
		t.Errorf("%s: a Trace is told %q, want %q", kind, got, want)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if slices.ContainsFunc(s.names, func(n string) bool { return n != name }) {
		t.Errorf("%s: a Trace is told of %q, want %s only", kind, s.names, name)
	}
	if slices.ContainsFunc(s.tokens, func(n uint64) bool { return n != token }) {
		t.Errorf("%s: a Trace is told the tokens %d, want %d only", kind, s.tokens, token)
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

func rival(c *zklock.Client, path, kind string) zklock.Lockable {
	if kind == "reader" {
		kind = "writer"
	}
	return lockables(c, path, zklock.Options{})[kind]
}

func traceWait(t *testing.T, at harness.Endpoint) {
	a, b := dial(t, at, zklock.ClientOptions{}), dial(t, at, zklock.ClientOptions{})
	for kind, want := range waitTold {
		path, s := newPath(), newTimeline()
		m := lockables(b, path, zklock.Options{})[kind]
		held := acquire(t, rival(a, path, kind).Lock)
		got := begins(zklock.WithTrace(t.Context(), s.trace()), m.Lock)
		if kind != "cohort" {
			select {
			case <-s.queued:
			case <-time.After(patience):
				t.Fatalf("%s: it does not say that it waits", kind)
			}
		}
		unlock(t, held)
		l := awaitLease(t, got)
		unlock(t, l)
		s.want(t, kind, want, path+tracedPaths[kind], l.Token())
	}
}

func traceFailed(t *testing.T, at harness.Endpoint) {
	a, b := dial(t, at, zklock.ClientOptions{}), dial(t, at, zklock.ClientOptions{})
	for kind := range waitTold {
		path, s := newPath(), newTimeline()
		held := acquire(t, rival(a, path, kind).Lock)
		ctx, cancel := context.WithCancel(zklock.WithTrace(t.Context(), s.trace()))
		want := "queued 0, failed"
		switch kind {
		case "semaphore v2":
			want = "queued -1, failed"
		case "cohort":
			want = "failed"
			s.queued <- struct{}{}
		}
		go func() { <-s.queued; cancel() }()
		if _, err := lockables(b, path, zklock.Options{})[kind].Lock(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: Lock = %v", kind, err)
		}
		s.want(t, kind, want, path+tracedPaths[kind], 0)
		if !errors.Is(s.err, context.Canceled) {
			t.Errorf("%s: it is told to have failed by %v", kind, s.err)
		}
		unlock(t, held)
	}
	s, path := newTimeline(), newPath()
	held, m := acquire(t, a.Mutex(path, zklock.Options{}).Lock), b.Mutex(path, zklock.Options{})
	if _, err := m.TryLock(zklock.WithTrace(t.Context(), s.trace())); !errors.Is(err, zklock.ErrNotAcquired) {
		t.Errorf("TryLock = %v", err)
	}
	s.want(t, "TryLock", "failed", path, 0)
	unlock(t, held)
}

// traceOnce: a waiter that waits several times is Queued once.
func traceOnce(t *testing.T, at harness.Endpoint) {
	a, b := dial(t, at, zklock.ClientOptions{}), dial(t, at, zklock.ClientOptions{})
	for _, kind := range []string{"semaphore", "semaphore v2"} {
		path, s := newPath(), []*timeline{newTimeline(), newTimeline()}
		held := acquire(t, lockables(a, path, zklock.Options{})[kind].Lock)
		var got []<-chan result
		for _, s := range s {
			m := lockables(b, path, zklock.Options{})[kind]
			got = append(got, behind(zklock.WithTrace(t.Context(), s.trace()), m.Lock))
			<-s.queued
		}
		unlock(t, held)
		for i, s := range s {
			held = awaitLease(t, got[i])
			time.Sleep(aWhile / 2) // the next one waits in its next queue
			unlock(t, held)
			if told := s.String(); strings.Count(told, "queued") != 1 {
				t.Errorf("%s: waiter %d is told %q, want one queued", kind, i, told)
			}
		}
	}
}

// traceClient: the Trace of the client hears of every kind, after that of the context.
func traceClient(t *testing.T, at harness.Endpoint) {
	path, s := newPath(), newTimeline()
	c := dial(t, at, zklock.ClientOptions{Trace: s.trace()})
	first := ""
	ctx := zklock.WithTrace(t.Context(), &zklock.Trace{Granted: func(zklock.GrantedInfo) { first = s.String() }})
	for kind, m := range lockables(c, path, zklock.Options{}) {
		s.heard, s.names, s.tokens = nil, nil, nil
		first = "not called"
		l, err := m.Lock(ctx)
		requireNoError(t, err)
		if first != "" {
			t.Errorf("%s: the Trace of the context hears of the grant after %q", kind, first)
		}
		unlock(t, l)
		s.want(t, kind, "granted, released", path+tracedPaths[kind], l.Token())
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
	renewed []zklock.RenewedInfo
	failed  []zklock.RenewalFailedInfo
	lost    []zklock.LostInfo
}

func (f *fading) trace() *zklock.Trace {
	return &zklock.Trace{
		Renewed: func(e zklock.RenewedInfo) {
			f.mu.Lock()
			f.renewed, f.failed = append(f.renewed, e), nil
			f.mu.Unlock()
		},
		RenewalFailed: func(e zklock.RenewalFailedInfo) { f.mu.Lock(); f.failed = append(f.failed, e); f.mu.Unlock() },
		Lost:          func(e zklock.LostInfo) { f.mu.Lock(); f.lost = append(f.lost, e); f.mu.Unlock() },
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
	for kind := range waitTold {
		path, f := newPath(), new(fading)
		l, err := lockables(c, path, zklock.Options{})[kind].Lock(zklock.WithTrace(t.Context(), f.trace()))
		requireNoError(t, err)
		held[kind], told[kind], names[kind] = l, f, path+tracedPaths[kind]
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
