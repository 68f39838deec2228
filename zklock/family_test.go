package zklock_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"locklab/harness"
	"locklab/zklock"
	"locklab/zklock/lab"
)

func variant(t *testing.T, name string) *harness.Variant {
	t.Helper()
	i := slices.IndexFunc(lab.Suite, func(v *harness.Variant) bool { return v.Name == name })
	if i < 0 {
		t.Fatalf("no lock %q", name)
	}
	return lab.Suite[i]
}

func newKey() string { return newPath()[len("/locklab/"):] }

func client(t *testing.T, v *harness.Variant, at harness.Endpoint, key string) harness.Remote {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	return closed(t)(v.Remote(ctx, at, key))
}

func closed(t *testing.T) func(harness.Remote, error) harness.Remote {
	return func(r harness.Remote, err error) harness.Remote {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { r.Close() })
		return r
	}
}

func session(t *testing.T, r harness.Remote) harness.Session {
	t.Helper()
	s, err := r.Join(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

type got struct {
	l   harness.Lease
	err error
}

func begin(ctx context.Context, s harness.Session) <-chan got {
	c := make(chan got, 1)
	go func() {
		l, err := s.Lock(ctx)
		c <- got{l, err}
	}()
	return c
}

func soon(t *testing.T, c <-chan got) harness.Lease {
	t.Helper()
	select {
	case g := <-c:
		if g.err != nil {
			t.Fatal(g.err)
		}
		return g.l
	case <-time.After(patience):
		t.Fatal("Lock does not return")
		return nil
	}
}

func mustLock(t *testing.T, s harness.Session) harness.Lease {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	return soon(t, begin(ctx, s))
}

func mustUnlock(t *testing.T, l harness.Lease) {
	t.Helper()
	if err := l.Unlock(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func requestsBehindOthers(t *testing.T, at harness.Endpoint) {
	for _, v := range correct() {
		requests, notifications := contendedCost(t, at, v)
		t.Logf("%s: %.2f requests and %.2f notifications for each of 4 contenders", v.Name, requests, notifications)
		switch v.Name {
		case "zk-fair", "zk-boolean-mutex", "zk-two-level", "zk-two-level-local-first", "zk-cohort":
			costs(t, v, requests, notifications, 3)
		case "zk-writelock": // checks its parent and its ticket each time
			costs(t, v, requests, notifications, 5)
		case "zk-poll":
			if notifications != 0 {
				t.Errorf("%s has %.2f notifications", v.Name, notifications)
			}
		case "zk-herd": // every waiter gets an event for every other's arrival and departure
			if notifications < 2 {
				t.Errorf("%s has only %.2f notifications: no herd", v.Name, notifications)
			}
		}
	}
}

// costs checks the cost of an acquisition: alone, plus two requests for each wait, some of which
// occur. A ticket ahead that goes before it is watched costs two without a notification.
func costs(t *testing.T, v *harness.Variant, requests, notifications, alone float64) {
	t.Helper()
	if more := requests - alone - 2*notifications; more < -0.05 || more > 1 || notifications < 0.2 || notifications > 1 {
		t.Errorf("%s costs %.2f requests and %.2f notifications, want %v and 2 for each notification", v.Name, requests, notifications, alone)
	}
}

// contendedCost returns the traffic of an acquisition among four clients that queue at once.
func contendedCost(t *testing.T, at harness.Endpoint, v *harness.Variant) (requests, notifications float64) {
	const workers, acquisitions = 4, 25
	key := newPath()[len("/locklab/"):]
	var wg sync.WaitGroup
	var mu sync.Mutex
	var total harness.Counts
	for i := range workers {
		r, err := v.Remote(t.Context(), at, key)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		s, err := r.Join(t.Context(), i)
		if err != nil {
			t.Fatal(err)
		}
		wg.Go(func() {
			for range acquisitions {
				l, err := s.Lock(t.Context())
				if err == nil {
					err = l.Unlock(t.Context())
				}
				if err != nil {
					t.Error(err)
					return
				}
			}
			mu.Lock()
			defer mu.Unlock()
			total = total.Add(r.(harness.Counter).Counts())
		})
	}
	wg.Wait()
	return float64(total.Requests) / (workers * acquisitions), float64(total.Notifications) / (workers * acquisitions)
}

func correct() (out []*harness.Variant) {
	for _, v := range lab.Suite {
		if v.Status.Competes() {
			out = append(out, v)
		}
	}
	return out
}

// A multi waits in one queue at a time, so no queue has a ticket of each contender.
var notInLine = []string{"zk-multi"}

func middleWaiterDies(t *testing.T, at harness.Endpoint) {
	var tests []serverTest
	for _, v := range correct() {
		if v.Traits.FIFO && v.Traits.Permits == 0 && !v.Traits.ReadWrite && !slices.Contains(notInLine, v.Name) {
			tests = append(tests, serverTest{v.Name, func(t *testing.T, at harness.Endpoint) { middleDies(t, at, v) }})
		}
	}
	together(t, at, tests)
}

func middleDies(t *testing.T, at harness.Endpoint, v *harness.Variant) {
	see, key := raw(t, at), newKey()
	path := "/locklab/" + key
	var cs []harness.Remote
	var ss []harness.Session
	for range 3 {
		c := client(t, v, at, key)
		cs, ss = append(cs, c), append(ss, session(t, c))
	}
	head := mustLock(t, ss[0])
	middle := begin(t.Context(), ss[1])
	queued(t, see, path, 2)
	last := begin(t.Context(), ss[2])
	queued(t, see, path, 3)
	time.Sleep(aWhile / 4)
	cs[1].Close()
	if g := <-middle; !errors.Is(g.err, zklock.ErrClosed) {
		t.Errorf("Lock of a closed client = %v, want ErrClosed", g.err)
	}
	queued(t, see, path, 2)
	select {
	case g := <-last:
		t.Fatalf("the one behind returned %v, %v while the first holds the lock", g.l, g.err)
	case <-time.After(aWhile):
	}
	mustUnlock(t, head)
	mustUnlock(t, soon(t, last))
	queued(t, see, path, 0)
}
