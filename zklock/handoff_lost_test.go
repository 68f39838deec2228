package zklock_test

import (
	"fmt"
	"testing"

	"locklab/harness"
	"locklab/internal/faultproxy"
	wirezk "locklab/internal/wire/zookeeper"
	"locklab/zklock"
)

// turns are three holders of a lock, each behind the one before. A message of client c is lost.
type turns struct {
	name  string
	lost  []faultproxy.Action
	most  int // messages, no fewer than there are
	takes func(t *testing.T, see *wirezk.Conn, c, d *zklock.Client, path string) [3]taker
}

var (
	replies  = []faultproxy.Action{faultproxy.LoseReply}
	messages = []faultproxy.Action{faultproxy.LoseRequest, faultproxy.LoseReply}
)

var lossy = []turns{
	{"mutex", replies, 20, func(_ *testing.T, _ *wirezk.Conn, c, d *zklock.Client, path string) [3]taker {
		m, n := c.Mutex(path, zklock.Options{}), d.Mutex(path, zklock.Options{})
		return [3]taker{m.Lock, n.Lock, m.Lock}
	}},
	{"a reader behind a writer", replies, 20, func(_ *testing.T, _ *wirezk.Conn, c, d *zklock.Client, path string) [3]taker {
		m, n := c.RWMutex(path, zklock.Options{}), d.RWMutex(path, zklock.Options{})
		return [3]taker{m.Lock, n.Lock, m.RLock}
	}},
	{"a writer behind a reader", replies, 20, func(_ *testing.T, _ *wirezk.Conn, c, d *zklock.Client, path string) [3]taker {
		m, n := c.RWMutex(path, zklock.Options{}), d.RWMutex(path, zklock.Options{})
		return [3]taker{m.Lock, n.RLock, m.Lock}
	}},
	{"the ticket ahead is asked for by its name", messages, 10, func(t *testing.T, see *wirezk.Conn, c, d *zklock.Client, path string) [3]taker {
		m, n := c.Mutex(path, zklock.Options{}), d.Mutex(path, zklock.Options{})
		byName(t, see, m, n)
		return [3]taker{n.Lock, m.Lock, n.Lock}
	}},
	{"the last turn was its own", messages, 6, func(t *testing.T, _ *wirezk.Conn, c, d *zklock.Client, path string) [3]taker {
		m, n := c.Mutex(path, zklock.Options{}), d.Mutex(path, zklock.Options{})
		for range 3 {
			unlock(t, lock(t, m))
		}
		return [3]taker{m.Lock, n.Lock, n.Lock}
	}},
}

// TestHandoffLost loses each request, or each reply and event, of the turns once.
func TestHandoffLost(t *testing.T) {
	t.Parallel()
	var tests []serverTest
	for _, turn := range lossy {
		for _, do := range turn.lost {
			for k := range turn.most {
				tests = append(tests, serverTest{fmt.Sprintf("%s, %s %d", turn.name, do, k), func(t *testing.T, at harness.Endpoint) {
					lost := loseMessage(t, at, turn, faultproxy.Fault{Do: do, Skip: k})
					if k == 0 && !lost || k == turn.most-1 && lost {
						t.Errorf("message %d was lost: %t; want the first, and fewer than %d messages", k, lost, turn.most)
					}
				}})
			}
		}
	}
	atOnce(t, endpoint(t), tests)
}

func loseMessage(t *testing.T, at harness.Endpoint, turn turns, f faultproxy.Fault) (lost bool) {
	p, see, path := newProxy(t, at), raw(t, at), newPath()
	c, d := dial(t, p.at, zklock.ClientOptions{}), dial(t, at, zklock.ClientOptions{})
	takes := turn.takes(t, see, c, d, path)
	p.lose(f)
	first := acquire(t, takes[0])
	next := behind(t.Context(), takes[1])
	awaitQueue(t, see, path, 2)
	expectWaiting(t, next)
	unlockDespiteFault(t, first)
	second := awaitLease(t, next)
	next = behind(t.Context(), takes[2])
	awaitQueue(t, see, path, 2)
	unlockDespiteFault(t, second)
	third := awaitLease(t, next)
	unlockDespiteFault(t, third)
	expectRisingTokens(t, first, second, third)
	for _, f := range takes {
		unlockDespiteFault(t, acquire(t, f))
	}
	awaitQueue(t, see, path, 0)
	return p.replyLost()
}
