package redislock_test

import (
	"errors"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"locklab/harness"
	locks "locklab/lock"
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
	renewals []locks.RenewedInfo
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

func (h *heard) renewed() []locks.RenewedInfo {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.renewals)
}

func (h *heard) trace() *redislock.Trace {
	return &redislock.Trace{
		Sent:     func(locks.SentInfo) { h.note("Sent") },
		Answered: func(locks.AnsweredInfo) { h.note("Answered") },
		Queued:   func(locks.QueuedInfo) { h.note("Queued") },
		Woken:    func(locks.WokenInfo) { h.note("Woken") },
		Granted:  func(locks.GrantedInfo) { h.note("Granted") },
		Failed: func(e locks.FailedInfo) {
			if errors.Is(e.Err, redislock.ErrNotAcquired) {
				h.note("Failed")
			}
		},
		Renewed: func(e locks.RenewedInfo) {
			h.note("Renewed")
			h.mu.Lock()
			defer h.mu.Unlock()
			h.renewals = append(h.renewals, e)
		},
		Released: func(locks.ReleasedInfo) { h.note("Released") },
		Lost: func(e locks.LostInfo) {
			if errors.Is(e.Err, redislock.ErrLost) {
				h.note("Lost")
			}
		},
	}
}

// TestTraceOfEachKind: exactly the hooks of the table are called, for every kind. The Trace of a
// client is called after the context's.
func TestTraceOfEachKind(t *testing.T) {
	made := slices.Sorted(slices.Values(constructors()))
	if rows := slices.Sorted(maps.Keys(traces)); !slices.Equal(rows, made) {
		t.Errorf("the table has rows for %q, the package makes %q", rows, made)
	}
	if have := slices.Sorted(maps.Keys(kinds)); !slices.Equal(have, made) {
		t.Errorf("kinds has %q, the package makes %q", have, made)
	}
	at := runParallel(t)
	tests := make(map[string]func(*testing.T))
	for name, want := range traces {
		s := traceScene{at, kinds[name], newClient(t, dialServer(t, at)), newClient(t, dialServer(t, at)), dialServer(t, at), strings.Contains(want.wait, "Answered")}
		for _, scene := range []struct {
			name, want string
			play       func(*testing.T, *heard)
		}{{"alone", want.alone, s.alone}, {"that waits", want.wait, s.wait}, {"that waits in vain", want.failed, s.failed}, {"that is lost", want.lost, s.lost}} {
			tests[name+" "+scene.name] = func(t *testing.T) {
				h := new(heard)
				scene.play(t, h)
				hooks := func() string { // on a busy machine a lease may last until it is renewed
					if scene.name != "that waits" {
						return h.String()
					}
					return strings.Replace(h.String(), "Granted Renewed", "Granted", 1)
				}
				for end := time.Now().Add(patience / 4); hooks() != scene.want && time.Now().Before(end); {
					time.Sleep(time.Millisecond) // Lost comes from another goroutine
				}
				if got := hooks(); got != scene.want {
					t.Errorf("it reports %q, want %q", got, scene.want)
				}
			}
		}
	}
	runConcurrently(t, len(tests), tests)
}

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
	at      harness.Endpoint
	kind    makeLock
	a, b    *redislock.Client
	watch   *link
	answers bool // the lock reports requests
}

func (s traceScene) alone(t *testing.T, h *heard) {
	var ofClient heard
	trace := ofClient.trace()
	trace.Granted = func(locks.GrantedInfo) {
		ofClient.note("Granted")
		if !strings.HasSuffix(h.String(), "Granted") {
			t.Error("the client's Trace is called before the context's")
		}
	}
	c := redislock.NewClient(dialServer(t, s.at).client, redislock.ClientOptions{Trace: trace})
	defer c.Close()
	l := lockNow(t, traced{s.kind(c, newKey(), redislock.Options{TTL: time.Second}), h.trace()})
	waitUntil(t, "it is renewed", func() bool { return len(h.renewed()) > 0 || l.Err() != nil })
	if e := h.renewed(); len(e) > 0 && (e[0].Token != l.Token() || !e[0].Until.After(time.Now())) {
		t.Errorf("with token %d it is renewed: %+v", l.Token(), e[0])
	}
	unlockLease(t, l)
	if got := ofClient.String(); got != "Sent Answered Granted Renewed Released" {
		t.Errorf("the client's Trace reports %q", got)
	}
}

func (s traceScene) wait(t *testing.T, h *heard) {
	key := newKey()
	first := lockNow(t, s.kind(s.a, key, redislock.Options{}))
	go func() {
		for s.answers && !strings.Contains(h.String(), "Answered") && t.Context().Err() == nil {
			time.Sleep(time.Millisecond)
		}
		time.Sleep(100 * time.Millisecond) // of Redlock other servers answer later
		first.Unlock(t.Context())
	}()
	unlockLease(t, lockNow(t, traced{s.kind(s.b, key, calm), h.trace()}))
}

func (s traceScene) failed(t *testing.T, h *heard) {
	key := newKey()
	first := lockNow(t, s.kind(s.a, key, redislock.Options{}))
	if _, err := s.kind(s.b, key, redislock.Options{Wait: time.Second}).Lock(redislock.WithTrace(t.Context(), h.trace())); err == nil {
		t.Error("two have it")
	}
	unlockLease(t, first)
}

func (s traceScene) lost(t *testing.T, h *heard) {
	key := newKey()
	l := lockNow(t, traced{s.kind(s.a, key, redislock.Options{TTL: 2 * time.Second}), h.trace()}) // an attempt of Redlock has a fraction of it
	requireNoError(t, s.watch.client.Del(t.Context(), key).Err())
	thief, err := s.kind(s.b, key, redislock.Options{}).(tryLocker).TryLock(t.Context())
	requireNoError(t, err)
	requireDone(t, l)
	unlockLease(t, thief)
}

// TestTraceOfSeveral: the renewals of a joint lease are reported once, with its token.
func TestTraceOfSeveral(t *testing.T) {
	const lease = 1200 * time.Millisecond
	at := runParallel(t)
	c := newClient(t, dialServer(t, at))
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
	l, err := m.Lock(redislock.WithTrace(t.Context(), h.trace()))
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

// TestRenewalFailed: a Trace gets each failed renewal, with the time left, before the loss.
func TestRenewalFailed(t *testing.T) {
	at := runParallel(t)
	const ttl = 1500 * time.Millisecond
	for _, test := range []struct {
		name  string
		spoil func(*link)
		want  string // text of an error
	}{
		{"nowhere to go", func(l *link) { l.redirect("-") }, "the test has cut this link"},
		{"silence", func(l *link) { l.stall.Store(true) }, "has not answered a renewal"},
	} {
		for kind, lock := range kinds {
			t.Run(test.name+"/"+kind, func(t *testing.T) {
				t.Parallel()
				l := dialServer(t, at)
				failed, lost := make(chan locks.RenewalFailedInfo, 100), make(chan locks.LostInfo, 1)
				c := redislock.NewClient(l.client, redislock.ClientOptions{Trace: &redislock.Trace{
					RenewalFailed: func(e locks.RenewalFailedInfo) { failed <- e },
					Lost:          func(e locks.LostInfo) { lost <- e },
				}})
				defer c.Close()
				name := newKey()
				held, err := lock(c, name, redislock.Options{TTL: ttl}).Lock(t.Context())
				requireNoError(t, err)
				test.spoil(l)
				if e := <-lost; !errors.Is(e.Err, redislock.ErrLost) || held.Err() == nil {
					t.Errorf("the lease is lost for %v", e.Err)
				}
				l.stall.Store(false)
				l.redirect("-") // what is still on its way fails
				if len(failed) == 0 {
					t.Fatal("no renewal has failed, but the lease is over")
				}
				first, said := <-failed, false
				if first.Name != name || first.Left <= 0 || first.Left > ttl {
					t.Errorf("the first failure is %+v, want one of %s with less than %v left", first, name, ttl)
				}
				for e := first; ; e = <-failed {
					said = said || strings.Contains(e.Err.Error(), test.want)
					if len(failed) == 0 {
						break
					}
				}
				if !said {
					t.Errorf("no failure says %q; the first says %v", test.want, first.Err)
				}
			})
		}
	}
}
