package zklock_test

import (
	"context"
	"slices"
	"sync"
	"testing"

	"locklab/harness"
	"locklab/peers"
	"locklab/zklock/lab"
)

func variant(t *testing.T, name string) *harness.Variant {
	t.Helper()
	all := slices.Concat(lab.Suite, peers.Suite)
	i := slices.IndexFunc(all, func(v *harness.Variant) bool { return v.Name == name })
	if i < 0 {
		t.Fatalf("no lock %q", name)
	}
	return all[i]
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
		requireNoError(t, err)
		t.Cleanup(func() { r.Close() })
		return r
	}
}

func session(t *testing.T, r harness.Remote) harness.Session {
	t.Helper()
	s, err := r.Join(t.Context(), 0)
	requireNoError(t, err)
	return s
}

func requestsBehindOthers(t *testing.T, at harness.Endpoint) {
	for _, v := range correct() {
		requests, notifications := contendedCost(t, at, v, 4)
		t.Logf("%s: %.2f requests and %.2f notifications for each of 4 contenders", v.Name, requests, notifications)
		switch v.Name {
		case "zk-fair", "zk-boolean-mutex", "zk-two-level", "zk-two-level-local-first", "zk-cohort":
			costs(t, v, requests, notifications, 3)
		case "zk-writelock": // checks its parent and its ticket each time
			costs(t, v, requests, notifications, 5)
		case "zk-semaphore", "zk-semaphore-v2":
			if requests > 12 {
				t.Errorf("%s: %.2f requests for an acquisition", v.Name, requests)
			}
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

// contendedCost returns the traffic of an acquisition among clients that queue again at once.
func contendedCost(t *testing.T, at harness.Endpoint, v *harness.Variant, workers int) (requests, notifications float64) {
	t.Helper()
	const acquisitions = 25
	key := newKey()
	var wg sync.WaitGroup
	var mu sync.Mutex
	var total harness.Counts
	for range workers {
		r := client(t, v, at, key)
		s := session(t, r)
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
	n := float64(workers * acquisitions)
	return float64(total.Requests) / n, float64(total.Notifications) / n
}

func correct() (out []*harness.Variant) {
	for _, v := range lab.Suite {
		if v.Status.Competes() {
			out = append(out, v)
		}
	}
	return out
}
