package redislock_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"locklab/harness"
	"locklab/redislock"
)

type makeLock = func(c *redislock.Client, name string, o redislock.Options) redislock.Lockable

// kinds are the kinds of lockKinds and Redlock, each with one name.
var kinds = makeKinds()

func makeKinds() map[string]makeLock {
	all := make(map[string]makeLock)
	for _, k := range lockKinds {
		all[k.name] = func(c *redislock.Client, name string, o redislock.Options) redislock.Lockable {
			return k.make(c, name, o)
		}
	}
	all["Multi"] = func(c *redislock.Client, name string, o redislock.Options) redislock.Lockable {
		return c.Multi([]string{name}, o)
	}
	all["Redlock"] = func(c *redislock.Client, name string, o redislock.Options) redislock.Lockable {
		return redislock.NewRedlock([]*redislock.Client{c}, name, redislock.RedlockOptions{PollOptions: redislock.PollOptions{Options: o}})
	}
	return all
}

func TestOptions(t *testing.T) {
	runOnServer(t, []serverTest{
		{"wait", optionWait},
		{"context", optionContext},
		{"client name", optionName},
		{"wrong client name", optionBadName},
		{"force", optionForce},
		{"force hands over", optionForceQueue},
		{"trace", optionTrace},
	})
}

func optionWait(t *testing.T, at harness.Endpoint) {
	const wait = 60 * time.Millisecond
	a, b, watch := newClient(t, dial(t, at)), newClient(t, dial(t, at)), dial(t, at)
	for name, kind := range kinds {
		key := newKey()
		if _, err := kind(b, key, redislock.Options{Wait: -1}).Lock(t.Context()); !errors.Is(err, redislock.ErrUsage) {
			t.Errorf("%s: Lock with a wait below zero = %v, want ErrUsage", name, err)
		}
		m := kind(b, key, redislock.Options{Wait: wait})
		unlock(t, lock(t, m)) // without waiting
		l := lock(t, kind(a, key, redislock.Options{}))
		began := time.Now()
		_, err := m.Lock(t.Context())
		between(t, name+" waits", time.Since(began), wait, wait)
		if !errors.Is(err, redislock.ErrNotAcquired) || !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(fmt.Sprint(err), "60ms") {
			t.Errorf("%s: Lock = %v, want ErrNotAcquired and DeadlineExceeded, and the wait", name, err)
		}
		unlock(t, l)
		eventually(t, name+": nothing is left", func() bool {
			return watch.Exists(t.Context(), key, key+":~queue").Val() == 0
		})
		unlock(t, lock(t, m)) // it can be locked again
	}
}

func optionContext(t *testing.T, at harness.Endpoint) {
	a, b := newClient(t, dial(t, at)), newClient(t, dial(t, at))
	boom := errors.New("boom")
	for name, kind := range kinds {
		key := newKey()
		l := lock(t, kind(a, key, redislock.Options{}))
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(20*time.Millisecond, func() { cancel(boom) })
		_, err := kind(b, key, redislock.Options{}).Lock(ctx)
		for _, want := range []error{redislock.ErrNotAcquired, context.Canceled, boom} {
			if !errors.Is(err, want) {
				t.Errorf("%s: Lock = %v, which does not wrap %v", name, err, want)
			}
		}
		unlock(t, l)
	}
}

func optionName(t *testing.T, at harness.Endpoint) {
	const name = "billing-7.eu/a_b"
	watch := dial(t, at)
	holder := redislock.NewClient(dial(t, at).Client, redislock.ClientOptions{Name: name})
	defer holder.Close()
	other := redislock.NewClient(dial(t, at).Client, redislock.ClientOptions{Name: "other"})
	defer other.Close()
	for kind, owns := range map[string]func(key string) string{
		"Mutex":     func(key string) string { return owner(t, watch, key) },
		"PollMutex": func(key string) string { return owner(t, watch, key) },
		"Semaphore": func(key string) string {
			return strings.Join(watch.ZRange(t.Context(), key, 0, 0).Val(), "")
		},
	} {
		key := newKey()
		l := lock(t, kinds[kind](holder, key, redislock.Options{}))
		if got := owns(key); !strings.HasPrefix(got, name+"-") {
			t.Errorf("%s: the lock is that of %q, want %s", kind, got, name)
		}
		unlock(t, l)
	}
	key := newKey()
	l := lock(t, other.Mutex(key, redislock.Options{}))
	w := enqueue(t, watch, holder.Mutex(key, redislock.Options{}))
	if all := watch.ZRange(t.Context(), key+":~queue", 0, -1).Val(); len(all) != 1 || !strings.HasPrefix(all[0], name+"-") {
		t.Errorf("in the queue is %q, want %s", all, name)
	}
	eventually(t, "the connection that listens has the name", func() bool {
		return strings.Contains(watch.ClientList(t.Context()).Val(), " name="+name+" ")
	})
	unlock(t, l)
	l, _ = w.lease(t)
	unlock(t, l)
}

func optionBadName(t *testing.T, at harness.Endpoint) {
	rdb := dial(t, at).Client
	for _, name := range []string{"a b", "a:b", "@a", "-a", "ä", "a\n", "a{b}", strings.Repeat("a", 65)} {
		c := redislock.NewClient(rdb, redislock.ClientOptions{Name: name})
		for kind, make := range kinds {
			if _, err := make(c, newKey(), redislock.Options{}).Lock(t.Context()); !errors.Is(err, redislock.ErrUsage) {
				t.Errorf("%s: Lock of a client called %q = %v, want ErrUsage", kind, name, err)
			}
		}
		c.Close()
	}
}

type forcer interface {
	ForceUnlock(ctx context.Context) (bool, error)
}

func optionForce(t *testing.T, at harness.Endpoint) {
	a, b := newClient(t, dial(t, at)), newClient(t, dial(t, at))
	for name, kind := range kinds {
		key := newKey()
		m := kind(b, key, redislock.Options{})
		f, ok := m.(forcer)
		if !ok {
			if name != "Multi" && name != "Redlock" { // their parts have it
				t.Errorf("%s has no ForceUnlock", name)
			}
			continue
		}
		if freed, err := f.ForceUnlock(t.Context()); freed || err != nil {
			t.Errorf("%s: ForceUnlock of a free lock = %t, %v", name, freed, err)
		}
		l := lock(t, kind(a, key, redislock.Options{}))
		if freed, err := f.ForceUnlock(t.Context()); !freed || err != nil {
			t.Errorf("%s: ForceUnlock = %t, %v", name, freed, err)
		}
		next := lock(t, m)
		if next.Token() < l.Token() || next.Token() == l.Token() && l.Token() > 0 {
			t.Errorf("%s: token %d after %d", name, next.Token(), l.Token())
		}
		lost(t, l)
		if err := next.Err(); err != nil {
			t.Errorf("%s: the next holder's Err = %v", name, err)
		}
		unlock(t, next)
	}
	for name, kind := range kinds {
		if f, ok := kind(a, "", redislock.Options{}).(forcer); ok {
			if _, err := f.ForceUnlock(t.Context()); !errors.Is(err, redislock.ErrUsage) {
				t.Errorf("%s: ForceUnlock of no name = %v, want ErrUsage", name, err)
			}
		}
	}
}

func optionForceQueue(t *testing.T, at harness.Endpoint) {
	const grant = 200 * time.Millisecond
	watch := dial(t, at)
	for _, names := range [][]string{nil, {"GHOST:1"}} {
		key, o := newKey(), redislock.Options{HandoffTimeout: grant}
		l := lock(t, newPeer(t, at).Mutex(key, o))
		w := enqueue(t, watch, newPeer(t, at).Mutex(key, o))
		ghosts(t, watch, key, names...)
		left := time.Now()
		if freed, err := newPeer(t, at).Mutex(key, o).ForceUnlock(t.Context()); !freed || err != nil {
			t.Errorf("ForceUnlock = %t, %v", freed, err)
		}
		next, came := w.lease(t)
		between(t, "a hand-over by force", came.Sub(left), -time.Second, grant*time.Duration(len(names)))
		lost(t, l)
		unlock(t, next)
	}
}

type timeline struct {
	mu    sync.Mutex
	lines []string
}

func (s *timeline) add(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lines = append(s.lines, fmt.Sprintf(format, args...))
}

func (s *timeline) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Join(s.lines, "\n")
}

func (s *timeline) trace() *redislock.Trace {
	return &redislock.Trace{
		Sent:     func(e redislock.SentInfo) { s.add("sent %s", e.Op) },
		Answered: func(e redislock.AnsweredInfo) { s.add("answered %s: %v", e.Op, e.Err) },
		Queued:   func(e redislock.QueuedInfo) { s.add("queued behind %d", e.Ahead) },
		Woken:    func(e redislock.WokenInfo) { s.add("woken: %s", e.Why) },
		Granted:  func(e redislock.GrantedInfo) { s.add("granted %d after a while: %t", e.Token, e.Wait > 0) },
		Released: func(e redislock.ReleasedInfo) { s.add("released %d after a while: %t", e.Token, e.Held > 0) },
	}
}

func optionTrace(t *testing.T, at harness.Endpoint) {
	watch, key := dial(t, at), newKey()
	unlock(t, lock(t, newPeer(t, at).Mutex(key, redislock.Options{}))) // the server may not have the scripts yet
	p := newPeer(t, at)
	first := lock(t, p.Mutex(key, redislock.Options{}))
	before := enqueue(t, watch, p.Mutex(key, redislock.Options{}))
	var s timeline
	m := newPeer(t, at).Mutex(key, redislock.Options{})
	got := begun(t, traced{m, s.trace()})
	eventually(t, "it waits", func() bool { return strings.Contains(s.String(), "queued") })
	unlock(t, first)
	l, _ := before.lease(t)
	unlock(t, l)
	l = take(t, got)
	unlock(t, l)
	want := fmt.Sprintf("sent acquire\nanswered acquire: <nil>\nqueued behind 1\nwoken: grant\ngranted %d after a while: true\n"+
		"sent release\nanswered release: <nil>\nreleased %[1]d after a while: true", l.Token())
	if s.String() != want {
		t.Errorf("the timeline is\n%s\nwant\n%s", s.String(), want)
	}
}
