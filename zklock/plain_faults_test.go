package zklock_test

import (
	"fmt"
	"testing"

	"locklab/harness"
	"locklab/internal/faultproxy"
	wirezk "locklab/internal/wire/zookeeper"
	"locklab/zklock"
)

// TestPlainFaults loses each request and each reply of two turns of zk-handoff: one asks for
// the ticket ahead by name, the other follows its own last turn.
func TestPlainFaults(t *testing.T) {
	t.Parallel()
	var tests []serverTest
	for _, turn := range []struct {
		name  string
		steps int
		run   func(*testing.T, harness.Endpoint, fault) (hit bool)
	}{
		{"behind another", 3, lostBehind},
		{"alone", 2, lostAlone},
	} {
		for _, do := range []faultproxy.Action{faultproxy.LoseRequest, faultproxy.LoseReply} {
			for step := range turn.steps {
				tests = append(tests, serverTest{fmt.Sprintf("%s, %s, step %d", turn.name, do, step+1), func(t *testing.T, at harness.Endpoint) {
					if !turn.run(t, at, fault{do, step}) {
						t.Error("the test shows nothing: nothing was lost")
					}
				}})
			}
		}
	}
	atOnce(t, endpoint(t), tests)
}

type fault struct {
	do   faultproxy.Action
	step int
}

func (f fault) inject(p *proxy, path string) *faultproxy.Injection {
	return p.Inject(faultproxy.Fault{Do: f.do, Skip: f.step,
		Match: faultproxy.Below(path, "create", "getData", "getChildren2", "exists", "multi", "delete")})
}

func lostBehind(t *testing.T, at harness.Endpoint, f fault) bool {
	p, see, path := newProxy(t, at), raw(t, at), newPath()
	c, d := dial(t, p.at, zklock.ClientOptions{}), dial(t, at, zklock.ClientOptions{})
	m, n := c.Mutex(path, zklock.Options{}), d.Mutex(path, zklock.Options{})
	byName(t, see, m, n)
	head := lock(t, n)
	lost := f.inject(p, path)
	next := behind(t.Context(), m.Lock)
	awaitQueue(t, see, path, 2)
	expectWaiting(t, next)
	last := waiting(t, t.Context(), n, see, 3)
	unlock(t, head)
	l := awaitLease(t, next)
	expectWaiting(t, last)
	unlockDespiteFault(t, l)
	end := awaitLease(t, last)
	if l.Token() <= head.Token() || end.Token() <= l.Token() {
		t.Errorf("tokens %d, %d, %d", head.Token(), l.Token(), end.Token())
	}
	unlock(t, end)
	return settled(t, see, lost, m, n)
}

func lostAlone(t *testing.T, at harness.Endpoint, f fault) bool {
	p, see, path := newProxy(t, at), raw(t, at), newPath()
	c, d := dial(t, p.at, zklock.ClientOptions{}), dial(t, at, zklock.ClientOptions{})
	m, n := c.Mutex(path, zklock.Options{}), d.Mutex(path, zklock.Options{})
	for range 3 {
		unlock(t, lock(t, m))
	}
	lost := f.inject(p, path)
	l := lock(t, m)
	next := waiting(t, t.Context(), n, see, 2)
	expectWaiting(t, next)
	unlockDespiteFault(t, l)
	end := awaitLease(t, next)
	if end.Token() <= l.Token() {
		t.Errorf("tokens %d, %d", l.Token(), end.Token())
	}
	unlock(t, end)
	return settled(t, see, lost, m, n)
}

// settled lets each take the lock again, and reports whether the message was lost.
func settled(t *testing.T, see *wirezk.Conn, lost *faultproxy.Injection, ms ...*zklock.Mutex) bool {
	t.Helper()
	for range 2 {
		for _, m := range ms {
			unlock(t, lock(t, m))
		}
	}
	awaitQueue(t, see, ms[0].Path(), 0)
	select {
	case <-lost.Done():
		return true
	default:
		return false
	}
}
