package redislock_test

import (
	"context"
	"errors"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"locklab/harness"
	"locklab/harness/locktest"
	"locklab/internal/leaktest"
	"locklab/redislock"
)

// The calls of a Trace for each kind of lock, in the order of the first ones: of a Lock alone,
// one that waits, one that waits in vain, and one whose lease is lost. A Cohort's requests are
// not one waiter's.
const (
	aloneHooks  = "Sent Answered Granted Renewed Released"
	waitHooks   = "Sent Answered Queued Woken Granted Released"
	failedHooks = "Sent Answered Queued Failed"
	lostHooks   = "Sent Answered Granted Lost"
)

var traces = map[string]struct{ alone, wait, failed, lost string }{
	"Mutex":       {aloneHooks, waitHooks, failedHooks, lostHooks},
	"RWMutex":     {aloneHooks, waitHooks, failedHooks, lostHooks},
	"Semaphore":   {aloneHooks, waitHooks, failedHooks, lostHooks},
	"Multi":       {aloneHooks, waitHooks, failedHooks, lostHooks},
	"Reentrant":   {aloneHooks, waitHooks, "Sent Answered Queued Woken Failed", lostHooks}, // woken by the beginning of the subscription
	"PubSubMutex": {aloneHooks, waitHooks, "Sent Answered Queued Woken Failed", lostHooks}, // the same
	"PollMutex":   {aloneHooks, waitHooks, "Sent Answered Queued Woken Failed", lostHooks}, // woken by its own pauses
	"Redlock":     {aloneHooks, waitHooks, "Sent Answered Queued Woken Failed", lostHooks}, // the same
	"Cohort":      {"Granted Renewed Released", "Granted Released", "Failed", "Granted Lost"},
}

type heard struct {
	mu       sync.Mutex
	hooks    []string // in the order of their first calls
	renewals []redislock.RenewedInfo
}

func (h *heard) note(hook string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !slices.Contains(h.hooks, hook) {
		h.hooks = append(h.hooks, hook)
	}
}

func (h *heard) String() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return strings.Join(h.hooks, " ")
}

func (h *heard) renewed() []redislock.RenewedInfo {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.renewals)
}

func (h *heard) context(t *testing.T) context.Context {
	return redislock.WithTrace(t.Context(), h.trace())
}

func (h *heard) trace() *redislock.Trace {
	return &redislock.Trace{
		Sent:     func(redislock.SentInfo) { h.note("Sent") },
		Answered: func(redislock.AnsweredInfo) { h.note("Answered") },
		Queued:   func(redislock.QueuedInfo) { h.note("Queued") },
		Woken:    func(redislock.WokenInfo) { h.note("Woken") },
		Granted:  func(redislock.GrantedInfo) { h.note("Granted") },
		Failed: func(e redislock.FailedInfo) {
			if errors.Is(e.Err, redislock.ErrNotAcquired) {
				h.note("Failed")
			}
		},
		Renewed: func(e redislock.RenewedInfo) {
			h.note("Renewed")
			h.mu.Lock()
			defer h.mu.Unlock()
			h.renewals = append(h.renewals, e)
		},
		Released: func(redislock.ReleasedInfo) { h.note("Released") },
		Lost: func(e redislock.LostInfo) {
			if errors.Is(e.Err, redislock.ErrLost) {
				h.note("Lost")
			}
		},
	}
}

// TestTraceOfEachKind: exactly the hooks of the table are called, for every kind.
func TestTraceOfEachKind(t *testing.T) {
	t.Parallel()
	made := slices.Sorted(slices.Values(constructors()))
	if rows := slices.Sorted(maps.Keys(traces)); !slices.Equal(rows, made) {
		t.Errorf("the table has rows for %q, the package makes %q", rows, made)
	}
	if have := slices.Sorted(maps.Keys(kinds)); !slices.Equal(have, made) {
		t.Errorf("kinds has %q, the package makes %q", have, made)
	}
	at := locktest.Endpoint(t, harness.KindRedis)
	leaktest.Own(t)
	var all sync.WaitGroup
	defer all.Wait()
	for name, want := range traces {
		s := traceScene{t, name, kinds[name], newClient(t, dial(t, at)), newClient(t, dial(t, at)), dial(t, at)}
		all.Go(func() { s.want("alone", want.alone, s.alone) })
		all.Go(func() { s.want("that waits", want.wait, s.wait) })
		all.Go(func() { s.want("that waits in vain", want.failed, s.failed) })
		all.Go(func() { s.want("that is lost", want.lost, s.lost) })
	}
}

// constructors returns the locks that a Client makes, and Redlock.
func constructors() []string {
	all := []string{"Redlock"}
	for m := range reflect.TypeFor[*redislock.Client]().Methods() {
		if m.Type.NumOut() == 1 && m.Type.Out(0).Kind() == reflect.Pointer {
			all = append(all, m.Type.Out(0).Elem().Name())
		}
	}
	return all
}

type traceScene struct {
	t     *testing.T
	name  string
	kind  func(*redislock.Client, string, redislock.Options) redislock.Lockable
	a, b  *redislock.Client
	watch *link
}

func (s traceScene) want(what, want string, play func(h *heard) error) {
	h := new(heard)
	if err := play(h); err != nil {
		s.t.Errorf("%s %s: %v", s.name, what, err)
		return
	}
	for end := time.Now().Add(patience / 4); h.String() != want && time.Now().Before(end); {
		time.Sleep(time.Millisecond) // Lost comes from another goroutine
	}
	if got := h.String(); got != want {
		s.t.Errorf("a %s %s tells %q, want %q", s.name, what, got, want)
	}
}

func (s traceScene) alone(h *heard) error {
	l, err := s.kind(s.a, newKey(), redislock.Options{TTL: time.Second}).Lock(h.context(s.t))
	if err != nil {
		return err
	}
	for end := time.Now().Add(patience); len(h.renewed()) == 0 && l.Err() == nil && time.Now().Before(end); {
		time.Sleep(time.Millisecond)
	}
	if e := h.renewed(); len(e) > 0 && (e[0].Token != l.Token() || !e[0].Until.After(time.Now())) {
		s.t.Errorf("a %s with token %d is renewed: %+v", s.name, l.Token(), e[0])
	}
	return l.Unlock(s.t.Context())
}

func (s traceScene) wait(h *heard) error {
	key := newKey()
	first, err := s.kind(s.a, key, redislock.Options{}).Lock(s.t.Context())
	if err != nil {
		return err
	}
	time.AfterFunc(100*time.Millisecond, func() { first.Unlock(s.t.Context()) })
	l, err := s.kind(s.b, key, calm).Lock(h.context(s.t))
	if err != nil {
		return err
	}
	return l.Unlock(s.t.Context())
}

func (s traceScene) failed(h *heard) error {
	key := newKey()
	first, err := s.kind(s.a, key, redislock.Options{}).Lock(s.t.Context())
	if err != nil {
		return err
	}
	if l, err := s.kind(s.b, key, redislock.Options{Wait: 200 * time.Millisecond}).Lock(h.context(s.t)); err == nil {
		s.t.Errorf("two have a %s", s.name)
		l.Unlock(s.t.Context())
	}
	return first.Unlock(s.t.Context())
}

func (s traceScene) lost(h *heard) error {
	key := newKey()
	l, err := s.kind(s.a, key, redislock.Options{TTL: 2 * time.Second}).Lock(h.context(s.t)) // an attempt of Redlock has a fraction of it
	if err != nil {
		return err
	}
	if err := s.watch.Del(s.t.Context(), key).Err(); err != nil {
		return err
	}
	thief, err := s.kind(s.b, key, redislock.Options{}).(tryLocker).TryLock(s.t.Context())
	if err != nil {
		return err
	}
	select {
	case <-l.Done():
	case <-time.After(patience):
		s.t.Errorf("a %s that another client has is still held", s.name)
	}
	return thief.Unlock(s.t.Context())
}

// TestTraceOfSeveral: the renewals of a joint lease are reported once, with its token.
func TestTraceOfSeveral(t *testing.T) {
	t.Parallel()
	const lease = 1200 * time.Millisecond
	at := locktest.Endpoint(t, harness.KindRedis)
	leaktest.Own(t)
	c := newClient(t, dial(t, at))
	o := redislock.Options{TTL: lease}
	multi := c.Multi([]string{newKey(), newKey(), newKey()}, o)
	cohort := c.Cohort(newKey(), redislock.CohortOptions{Options: o})
	var all sync.WaitGroup
	defer all.Wait()
	all.Go(func() { renewedOnce(t, multi, lease) })
	all.Go(func() {
		first := renewedOnce(t, cohort, lease)
		renewedOnce(t, cohort, lease)
		if n := len(first.renewed()); n > 4 {
			t.Errorf("%d renewals are told to the first acquisition", n)
		}
	})
}

// renewedOnce holds m for three renewals.
func renewedOnce(t *testing.T, m redislock.Lockable, lease time.Duration) *heard {
	h := new(heard)
	l, err := m.Lock(h.context(t))
	if err != nil {
		t.Error(err)
		return h
	}
	for end := time.Now().Add(patience); len(h.renewed()) < 3 && l.Err() == nil && time.Now().Before(end); {
		time.Sleep(time.Millisecond)
	}
	expectNoError(t, l.Unlock(t.Context()))
	var last time.Time
	for _, e := range h.renewed() {
		if e.Token != l.Token() || e.Until.Sub(last) <= lease/10 {
			t.Errorf("%T with token %d is renewed %v after the last time: %+v", m, l.Token(), e.Until.Sub(last), e)
		}
		last = e.Until
	}
	return h
}
