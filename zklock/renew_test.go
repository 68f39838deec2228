package zklock_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"

	"github.com/go-zookeeper/zk"

	"locklab/harness"
	"locklab/internal/backend"
	"locklab/zklock"
)

const (
	fewLeft  = math.MaxInt32 - 2
	halfUsed = 1<<30 + 1<<10 // a number at which a release recreates the node
)

// TestNumbersEnd runs locks whose counter of sequential nodes is nearly used up.
func TestNumbersEnd(t *testing.T) {
	t.Parallel()
	counters := map[string]int32{
		"/end": 0, "/end/refused": fewLeft, "/end/foreign": fewLeft, "/end/early": halfUsed, "/end/hidden": fewLeft,
		"/end/closed": 0, "/end/closed/lock": fewLeft,
	}
	tests := []serverTest{
		{"refused", refusesNumbers},
		{"foreign child", foreignChildStays},
		{"early", renewsEarly},
		{"no right to delete", mayNotDelete},
		{"no right to see the ACL", mayNotSeeACL},
	}
	for i, k := range kinds {
		if k.reads {
			continue
		}
		path := fmt.Sprintf("/end/kind%d", i)
		queues := map[string][]string{"multi": {"-a", "-b"}, "semaphore v2": {"/locks", "/leases"}}[k.name]
		if counters[path] = 0; queues == nil {
			queues = []string{""}
		}
		for _, dir := range queues {
			counters[path+dir] = fewLeft
		}
		tests = append(tests, serverTest{k.name, func(t *testing.T, at harness.Endpoint) { k.perform(t, at, path, endOfNumbers) }})
	}
	atOnce(t, startServer(t, backend.EnsembleOptions{Counters: counters}), tests)
}

func endOfNumbers(t *testing.T, s *stage) {
	var r rush
	var wg sync.WaitGroup
	for range 4 {
		f := s.taker(t)
		wg.Go(func() {
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			for range 3 {
				r.visit(t, ctx, f, true)
			}
		})
	}
	wg.Wait()
	expectEqual(t, "acquisitions", r.acquisitions.Load(), 12)
}

// refusesNumbers: no ticket is granted near the end; then the node is recreated.
func refusesNumbers(t *testing.T, at harness.Endpoint) {
	const path = "/end/refused"
	see, m := raw(t, at), newMutex(t, at, path)
	other := createNode(t, see, path+"/_c_0123456789abcdef-lock-", nil, zk.FlagEphemeralSequential)
	expectError(t, lockError(t.Context(), m.TryLock), zklock.ErrExhausted, zklock.ErrNotAcquired)
	eventually(t, "Lock is refused", func() bool { // its time may end before the server has answered
		ctx, cancel := context.WithTimeout(t.Context(), aWhile)
		defer cancel()
		err := lockError(ctx, m.Lock)
		return errors.Is(err, zklock.ErrExhausted) && errors.Is(err, zklock.ErrNotAcquired) && errors.Is(err, context.DeadlineExceeded)
	})
	waits := behind(t.Context(), m.Lock)
	expectWaiting(t, waits)
	awaitQueue(t, see, path, 1)
	deleteNode(t, see, other)
	unlock(t, awaitLease(t, waits))
}

func foreignChildStays(t *testing.T, at harness.Endpoint) {
	const path = "/end/foreign"
	createNode(t, raw(t, at), path+"/inner", nil, 0)
	requireExhausted(t, at, path, nil)
}

func mayNotDelete(t *testing.T, at harness.Endpoint) {
	setACL(t, raw(t, at), "/end/closed", zk.WorldACL(zk.PermAll&^zk.PermDelete))
	requireExhausted(t, at, "/end/closed/lock", zk.ErrNoAuth)
}

func mayNotSeeACL(t *testing.T, at harness.Endpoint) {
	acl := append(zk.DigestACL(zk.PermAdmin, user, password), zk.WorldACL(zk.PermAll&^zk.PermAdmin)...)
	setACL(t, raw(t, at), "/end/hidden", acl)
	requireExhausted(t, at, "/end/hidden", nil)
}

func requireExhausted(t *testing.T, at harness.Endpoint, path string, why error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	_, err := newMutex(t, at, path).Lock(ctx)
	if !errors.Is(err, zklock.ErrExhausted) || why != nil && !errors.Is(err, why) || ctx.Err() != nil {
		t.Errorf("Lock of %s = %v, want ErrExhausted and %v", path, err, why)
	}
}

// renewsEarly: a release recreates a free node long before the end, but none with a ticket.
func renewsEarly(t *testing.T, at harness.Endpoint) {
	const path = "/end/early"
	see := raw(t, at)
	want := zk.DigestACL(zk.PermAll, user, password)
	want = append(want, zk.WorldACL(zk.PermAll&^zk.PermAdmin)...)
	setData(t, see, path, []byte("data"))
	setACL(t, see, path, want)
	c := dial(t, at, zklock.ClientOptions{Username: user, Password: password, ACL: zk.WorldACL(zk.PermAll)})
	m := c.Mutex(path, zklock.Options{})
	takeNumbered := func(want string) {
		l := lock(t, m)
		if !strings.HasSuffix(zklock.Node(l), want) {
			t.Fatalf("ticket %s, want number %s", zklock.Node(l), want)
		}
		unlock(t, l)
	}
	takeNumbered(fmt.Sprint(halfUsed))
	eventually(t, "the node is made again", func() bool {
		data, stat, err := see.Get(path)
		if err != nil || string(data) != "data" {
			t.Fatalf("the node of the lock has %q (%v)", data, err)
		}
		return stat.Czxid != 0
	})
	got, _, err := see.GetACL(path)
	if err != nil || len(got) != 2 || got[0].Scheme != want[0].Scheme || got[1] != want[1] {
		t.Errorf("the ACL is %v, %v, want %v", got, err, want)
	}
	takeNumbered("-0000000000")
}
