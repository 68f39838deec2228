package redislock_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"locklab/harness"
	"locklab/harness/locktest"
	"locklab/redislock"
)

// The waiters of the fuzzed scripts: two of each of two processes.
var fuzzed = []string{"A:1", "A:2", "B:1", "B:2"}

const fuzzedSpan = 60_000 // ms: every lease and grant, so that nothing ends unless the input says so

// A queueModel is what the scripts of redis-queue should keep in the server.
type queueModel struct {
	owner string // "" for none
	queue []string
	given bool // the lock went to a waiter in the latest step
	tells bool // the first waiter, if there is one, learns for how long it is taken
}

// grant gives the lock to the first waiter, unless that is self, or to none, and
// reports whether it has an owner then.
func (m *queueModel) grant(self string) bool {
	m.owner = ""
	if len(m.queue) == 0 {
		return false
	}
	m.owner, m.queue = m.queue[0], m.queue[1:]
	m.given = m.owner != self
	return true
}

// acquire returns the place of w in the queue, or whether it owns the lock.
func (m *queueModel) acquire(w string, try bool) (ahead int, owns bool) {
	if m.owner == "" && !m.grant(w) {
		m.owner = w
	}
	if m.owner == w {
		return 0, true
	}
	if !try && !slices.Contains(m.queue, w) {
		m.queue = append(m.queue, w)
	}
	return slices.Index(m.queue, w), false
}

func (m *queueModel) release(w string) int {
	switch {
	case m.owner == w:
		if m.grant("") {
			return 2
		}
		return 1
	default:
		place := slices.Index(m.queue, w)
		m.queue = slices.DeleteFunc(m.queue, func(x string) bool { return x == w })
		handed := m.owner == "" && m.grant("")
		switch {
		case place < 0:
			return -1
		case handed:
			return 3
		}
		return 0
	}
}

// sweep is what the scripts do that are of no waiter in particular.
func (m *queueModel) sweep(op string) int {
	held := m.owner != ""
	m.tells = op == "pass"
	if op != "force" && held {
		return map[string]int{"check": 0, "pass": 1}[op]
	}
	given := m.grant("")
	switch {
	case op == "pass":
		return 1
	case given:
		return 2
	case op == "check" || held:
		return 1
	}
	return 0
}

// A queueFuzz is a lock in a real server, and its model.
type queueFuzz struct {
	*testing.T
	queueModel
	rdb     *link
	ctx     context.Context
	keys    []string
	scripts map[string]redislock.Runner
	last    uint64 // the greatest token
	before  string // the owner after the step before
	ahead   uint64 // µs by which the counter was set forward
}

// FuzzQueueScripts holds the scripts of redis-queue against a queue in Go, step by
// step: what they answer, which waiter they make the owner, the order of the queue, tokens
// that rise, and that each new owner, and no other, is told.
//
//	go test ./redislock -run '^$' -fuzz FuzzQueueScripts -fuzztime 1m
func FuzzQueueScripts(f *testing.F) {
	at := locktest.Endpoint(f, harness.KindRedis)
	f.Add([]byte{0, 1, 2, 3, 4, 5, 6, 7})         // all come, and go in order
	f.Add([]byte{0, 1, 2, 16, 3, 12, 5, 0, 4})    // the owner's time runs out
	f.Add([]byte{0, 1, 2, 5, 24, 8, 9, 20, 6})    // one gives up, one is thrown out
	f.Add([]byte{0, 1, 2, 1, 4, 4, 5, 5, 28, 16}) // repetitions
	f.Add([]byte{0, 1, 56, 4, 0, 5, 16, 2})       // the clock is set back
	rng := rand.New(rand.NewPCG(1, 2))
	for range 20 {
		steps := make([]byte, 50)
		for i := range steps {
			steps[i] = byte(rng.Uint32())
		}
		f.Add(steps)
	}
	rdb, scripts := dial(f, at), redislock.QueueScripts()
	f.Fuzz(func(t *testing.T, steps []byte) {
		key := newKey()
		q := &queueFuzz{T: t, rdb: rdb, ctx: context.WithoutCancel(t.Context()), scripts: scripts,
			keys: []string{key, key + ":~queue", key + ":~token", key + ":~mail:"}}
		defer rdb.Del(q.ctx, key, key+":~queue", key+":~token")
		for i, step := range steps[:min(len(steps), 100)] {
			q.step(step)
			if t.Failed() {
				t.Fatalf("at step %d of %v", i, steps)
			}
		}
	})
}

// fuzzedSteps are what may happen, some of it more often than the rest.
var fuzzedSteps = []string{"acquire", "release", "renew", "check", "expire", "pass", "force", "try",
	"acquire", "release", "acquire", "acquire", "acquire", "renew", "ahead", "acquire"}

// step does what a byte says: its last two bits are which waiter, the four before them what it does.
func (q *queueFuzz) step(b byte) {
	w := fuzzed[b%4]
	var notifications []any
	q.given, q.tells = false, false
	switch op := fuzzedSteps[b/4%16]; op {
	case "acquire", "try":
		ahead, owns := q.acquire(w, op == "try")
		q.acquired(w, op, ahead, owns)
	case "release":
		want := q.release(w)
		notifications = q.run(op, w, fuzzedSpan).([]any)
		if notifications[0] != int64(want) {
			q.Errorf("%s by %s returns %v, want %d", op, w, notifications[0], want)
		}
		notifications = notifications[1:]
	case "renew":
		q.same(op, q.run(op, w, fuzzedSpan), q.owner == w)
	case "ahead": // of the clock
		q.ahead += 1e9
		q.last = 4e15 + q.ahead
		q.rdb.Set(q.ctx, q.keys[2], q.last, 0)
	case "expire":
		q.rdb.Del(q.ctx, q.keys[0])
		q.owner = ""
	default:
		want := q.sweep(op)
		if got := q.run(op, "", fuzzedSpan); got != int64(want) {
			q.Errorf("%s returns %v, want %d", op, got, want)
		}
	}
	q.check(notifications)
}

func (q *queueFuzz) same(op string, got any, want bool) {
	if got != map[bool]int64{true: 1}[want] {
		q.Errorf("%s returns %v, want %t", op, got, want)
	}
}

func (q *queueFuzz) acquired(w, op string, ahead int, owns bool) {
	place := map[string]int{"acquire": 1}[op]
	reply := q.run("acquire", w, fuzzedSpan, fuzzedSpan, place).([]any)
	token, span, at := reply[0].(int64), reply[1].(int64), reply[3].(int64)
	watches := op == "acquire" || q.given
	switch {
	case (token > 0) != owns:
		q.Errorf("%s by %s returns token %d, want one: %t", op, w, token, owns)
	case !owns && (at != int64(ahead) || (span < 0) == watches):
		q.Errorf("%s by %s returns a span of %d with %d ahead, want %d", op, w, span, at, ahead)
	}
}

// run runs a script.
func (q *queueFuzz) run(op string, args ...any) any {
	q.Helper()
	reply, err := q.scripts[op](q.ctx, q.rdb.Client, q.keys, args...).Result()
	if err != nil {
		q.Fatalf("%s %v: %v", op, args, err)
	}
	return reply
}

// check compares the server with the model, and reads the mailboxes.
func (q *queueFuzz) check(notifications []any) {
	holder, text, _ := strings.Cut(owner(q.T, q.rdb, q.keys[0]), " ")
	if holder != q.owner {
		q.Errorf("%q owns the lock, want %q", holder, q.owner)
	}
	if got := q.rdb.ZRange(q.ctx, q.keys[1], 0, -1).Val(); !slices.Equal(got, q.queue) {
		q.Errorf("%v wait, want %v", got, q.queue)
	}
	for _, box := range []string{q.keys[3] + "A", q.keys[3] + "B"} {
		for _, l := range q.rdb.LRange(q.ctx, box, 0, -1).Val() {
			notifications = append(notifications, l)
		}
		q.rdb.Del(q.ctx, box)
	}
	var token uint64
	if q.owner != "" {
		fmt.Sscan(text, &token)
		if q.owner != q.before && token <= q.last {
			q.Errorf("token %d after %d", token, q.last)
		}
		q.last, q.before = max(q.last, token), q.owner
	}
	grants, news := 0, 0
	for _, l := range notifications {
		to, number, ok := redislock.ReadNotification(l.(string))
		switch {
		case !ok:
			q.Errorf("%q is not a notification", l)
		case number > 0:
			if grants++; to != q.owner || number != token {
				q.Errorf("the notification %q grants the lock, which %s owns with token %d", l, q.owner, token)
			}
		case len(q.queue) == 0 || to != q.queue[0]:
			q.Errorf("the notification %q is not for the first of %v", l, q.queue)
		default:
			news++
		}
	}
	if want := q.tells && len(q.queue) > 0; (news == 1) != want || news > 1 {
		q.Errorf("%d notifications tell the first of %v for how long the lock is taken, want one: %t", news, q.queue, want)
	}
	if (grants == 1) != q.given || grants > 1 {
		q.Errorf("%d notifications grant the lock, given to a waiter: %t", grants, q.given)
	}
}

// FuzzQueueRubbish: whatever lies in the keys of the lock, a script answers or
// fails. It does not take, or give away, what it did not write, but for force.
func FuzzQueueRubbish(f *testing.F) {
	at := locktest.Endpoint(f, harness.KindRedis)
	f.Add("another value", "C:1", "12", "C:1 0 1 0")
	f.Add("A:1", "", "rubbish", "rubbish")
	f.Add("A:1 ", "A", "1e400", "\x00 1 1 1")
	f.Add("", ":", "-1", "")
	f.Add("A:1 12", "@x:1", "999999999999999999999", "A:1 1 99999999999999999999 1")
	rdb, scripts := dial(f, at), redislock.QueueScripts()
	f.Fuzz(func(t *testing.T, value, waiter, counter, notification string) {
		ctx, key := context.WithoutCancel(t.Context()), newKey()
		keys := []string{key, key + ":~queue", key + ":~token", key + ":~mail:"}
		box, _, _ := strings.Cut(waiter, ":")
		all := []string{keys[0], keys[1], keys[2], keys[3] + "A", keys[3] + box}
		defer rdb.Del(ctx, all...)
		for op, run := range scripts {
			rdb.Del(ctx, all...)
			rdb.Set(ctx, keys[0], value, 0)
			rdb.ZAdd(ctx, keys[1], redis.Z{Score: 1, Member: waiter})
			rdb.Set(ctx, keys[2], counter, 0)
			rdb.RPush(ctx, keys[3]+box, notification)
			args := []any{"A:1", fuzzedSpan}
			if op == "acquire" {
				args = append(args, fuzzedSpan, 1)
			}
			err := run(ctx, rdb.Client, keys, args...).Err()
			if ours := value == "A:1" || strings.HasPrefix(value, "A:1 "); ours || op == "force" {
				continue
			}
			if got := rdb.Get(ctx, keys[0]).Val(); got != value {
				t.Errorf("%s makes %q of %q (%v)", op, got, value, err)
			}
		}
	})
}
