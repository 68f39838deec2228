package redislock_test

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"locklab/harness"
	"locklab/harness/locktest"
	"locklab/redislock"
)

type queueFuzz struct {
	*testing.T
	queueModel
	rdb     *link
	ctx     context.Context
	keys    []string
	waiters []string
	scripts map[string]redislock.Runner
	began   time.Time
	last    uint64            // the greatest token
	tokens  map[string]uint64 // of the holders after the step before
	ahead   uint64            // µs by which the counter was set forward
}

// fuzzedWaiters are two waiters of each of two processes, by kind.
var fuzzedWaiters = [][]string{
	{"A:1", "A:2", "B:1", "B:2"},
	{"A:1:1", "A:2:9", "B:1:1", "B:2:9"},
	{"A:1:2", "A:2:2", "B:1:2", "B:2:2"},
}

// FuzzQueueScripts compares the scripts of a queue with a model in Go, step by step: answers,
// holders, order, rising tokens, notifications, and the promised time to live of every key.
func FuzzQueueScripts(f *testing.F) {
	at := locktest.Endpoint(f, harness.KindRedis)
	rng := rand.New(rand.NewPCG(1, 2))
	for kind := range fuzzedWaiters {
		kind := byte(kind)
		f.Add(kind, []byte{0, 1, 2, 3, 4, 5, 6, 7})         // all come, and leave in order
		f.Add(kind, []byte{0, 1, 2, 16, 3, 12, 5, 0, 4})    // a holder's time runs out
		f.Add(kind, []byte{0, 1, 2, 5, 24, 8, 9, 20, 6})    // one gives up, one is forced out
		f.Add(kind, []byte{0, 1, 2, 1, 4, 4, 5, 5, 28, 16}) // repetitions
		f.Add(kind, []byte{0, 1, 56, 4, 0, 5, 16, 2})       // the clock is set back
		f.Add(kind, []byte{0, 1, 2, 3, 4, 62, 5, 0, 2, 12}) // a mailbox is not read
		f.Add(kind, []byte{0, 2, 3, 1, 16, 62, 12, 0, 5})   // nor is the mailbox of the first waiter in another process
		f.Add(kind, []byte{0, 16, 8, 64, 0, 16, 12, 16, 0}) // an expired hold is neither renewed nor given back
		f.Add(kind, []byte{0, 2, 1, 64, 12, 4, 3, 65, 5})   // a holder leaves without a handover
		f.Add(kind, []byte{0, 1, 64, 68, 68, 16, 0, 8, 69}) // another takes the lock without the queue
		f.Add(kind, []byte{0, 1, 3, 4, 5, 7})               // two readers are admitted together
		f.Add(kind, []byte{0, 2, 74, 4, 6})                 // a mailbox was not read for a moment
		for range 6 {
			steps := make([]byte, 50)
			for i := range steps {
				steps[i] = byte(rng.Uint32())
			}
			f.Add(kind, steps)
		}
	}
	rdb := dialServer(f, at)
	f.Fuzz(func(t *testing.T, kind byte, steps []byte) {
		kind %= byte(len(fuzzedWaiters))
		key := newKey()
		q := &queueFuzz{T: t, rdb: rdb, ctx: context.WithoutCancel(t.Context()), began: time.Now(), waiters: fuzzedWaiters[kind],
			scripts: redislock.QueueScripts(kind > 0), keys: []string{key, key + ":~queue", key + ":~token", key + ":~mail:"},
			queueModel: queueModel{several: kind > 0, holders: make(map[string]holding), lapsed: make(map[string]bool),
				freed: make(map[string]bool), stale: make(map[string]bool)}}
		if q.several {
			q.keys = append(q.keys, key+":~tokens")
		}
		defer rdb.client.Del(q.ctx, slices.Concat(q.keys, []string{q.keys[3] + "A", q.keys[3] + "B"})...)
		for i, step := range steps[:min(len(steps), 100)] {
			q.step(step)
			if t.Failed() {
				t.Fatalf("at step %d of %v of kind %d", i, steps, kind)
			}
		}
	})
}

// fuzzedSteps are the possible steps, some of them more frequent.
var fuzzedSteps = []string{"acquire", "release", "renew", "check", "expire", "pass", "force", "try",
	"acquire", "release", "acquire", "acquire", "acquire", "renew", "ahead", "stale", "free", "seize", "recent"}

// step runs the operation in the upper bits of b for the waiter in its last two bits.
func (q *queueFuzz) step(b byte) {
	w, op := q.waiters[b%4], fuzzedSteps[int(b/4)%len(fuzzedSteps)]
	var notifications []any
	q.given, q.tells, q.here = nil, false, ""
	switch op {
	case "acquire", "try":
		q.acquired(w, op == "try")
	case "release":
		q.here = boxOf(w)
		notifications = q.run(op, w, fuzzedGrant.Milliseconds()).([]any)
		q.same(op, w, notifications[0], q.release(w))
		notifications = notifications[1:]
	case "renew", "free":
		got := q.run(op, w, fuzzedLease.Milliseconds())
		q.same(op, w, got, q.keep(op, w))
	case "seize": // by one that never waits
		w = "C" + w[1:]
		q.same(op, w, q.run(op, w, fuzzedLease.Milliseconds()), q.seize(w))
		token, err := q.scripts["draw"](q.ctx, q.rdb.client, q.keys[2:3]).Uint64()
		if err != nil || token <= q.last {
			q.Errorf("the token %d after %d, %v", token, q.last, err)
		}
		q.last = token
	case "ahead": // of the clock
		q.ahead += 1e9
		q.last = 4e15 + q.ahead
		q.rdb.client.Set(q.ctx, q.keys[2], q.last, time.Until(time.UnixMicro(int64(q.last)).Add(24*time.Hour)))
	case "stale", "recent":
		if _, full := q.stale[boxOf(w)]; !full {
			q.stale[boxOf(w)] = op == "stale"
			q.rdb.client.RPush(q.ctx, q.keys[3]+boxOf(w), "stop", fmt.Sprint("X:1 0 ", map[string]int64{"stale": 1e6, "recent": time.Now().UnixMicro()}[op], " 5"))
		}
		return
	case "expire":
		switch w := q.expire(w); {
		case !q.several:
			q.rdb.client.Del(q.ctx, q.keys[0])
		case w != "":
			q.rdb.client.ZAdd(q.ctx, q.keys[0], redis.Z{Score: float64(q.rdb.client.Time(q.ctx).Val().UnixMicro() - 1000), Member: w})
		}
	default:
		got := q.run(op, "", fuzzedGrant.Milliseconds())
		q.same(op, "", got, q.sweep(op))
	}
	q.check(notifications)
}

func (q *queueFuzz) same(op, w string, got any, want int) {
	if got != int64(want) {
		q.Errorf("%s by %q returns %v, want %d", op, w, got, want)
	}
}

func (q *queueFuzz) acquired(w string, try bool) {
	place := map[bool]int{false: 1}[try]
	reply := q.run("acquire", w, fuzzedLease.Milliseconds(), fuzzedGrant.Milliseconds(), place).([]any)
	ahead := q.acquire(w, try)
	token, span, at := reply[0].(int64), time.Duration(reply[1].(int64))*time.Millisecond, reply[3].(int64)
	next, told := q.asks(ahead, try)
	switch {
	case (token > 0) != q.holds(w):
		q.Errorf("acquire by %s returns token %d, want one: %t", w, token, q.holds(w))
	case q.holds(w):
	case at != int64(ahead) || (span >= 0) != told:
		q.Errorf("acquire by %s returns a span of %v with %d ahead, want %d, and a span: %t", w, span, at, ahead, told)
	case told && q.ahead == 0 && !q.sent.add(span).meets(next): // with a clock that was set back it may be longer
		q.Errorf("acquire by %s: to ask again in %v, want %v", w, span, next.from.Sub(q.sent.from))
	}
}

func (q *queueFuzz) run(op string, args ...any) any {
	q.Helper()
	q.sent.from = time.Now()
	reply, err := q.scripts[op](q.ctx, q.rdb.client, q.keys, args...).Result()
	q.sent.to = time.Now()
	if err != nil {
		q.Fatalf("%s %v: %v", op, args, err)
	}
	return reply
}

func (q *queueFuzz) check(notifications []any) {
	tokens := q.checkHolders()
	if got := q.rdb.client.ZRange(q.ctx, q.keys[1], 0, -1).Val(); !slices.Equal(got, q.queue) {
		q.Errorf("%v wait, want %v", got, q.queue)
	}
	if len(q.queue) > 0 {
		q.lives(q.keys[1], q.waits)
	}
	if n, err := q.rdb.client.Get(q.ctx, q.keys[2]).Int64(); err == nil {
		q.lives(q.keys[2], window{time.UnixMicro(n), time.UnixMicro(n)}.add(24*time.Hour))
	}
	for _, w := range slices.SortedFunc(maps.Keys(tokens), func(a, b string) int { return cmp.Compare(tokens[a], tokens[b]) }) {
		if tokens[w] != q.tokens[w] && tokens[w] <= q.last {
			q.Errorf("token %d of %s after %d", tokens[w], w, q.last)
		}
		q.last = max(q.last, tokens[w])
	}
	q.tokens = tokens
	q.checkNotifications(append(notifications, q.readMailboxes()...))
}

func requireLife(t *testing.T, rdb *link, key string, until window) {
	t.Helper()
	asked := time.Now()
	left := rdb.client.PTTL(context.WithoutCancel(t.Context()), key).Val()
	if got := (window{asked, time.Now()}).add(left); left < 0 || !got.meets(until) {
		t.Errorf("%s lives for %v more, want %v", key, left, until.from.Sub(asked))
	}
}

func (q *queueFuzz) lives(key string, until window) {
	q.Helper()
	requireLife(q.T, q.rdb, key, until)
}

func (q *queueFuzz) checkHolders() map[string]uint64 {
	tokens := make(map[string]uint64)
	if len(q.holders)+len(q.lapsed) > 0 {
		q.lives(q.keys[0], q.life)
	}
	if !q.several {
		if w, text, held := strings.Cut(ownerOf(q.T, q.rdb, q.keys[0]), " "); held {
			var token uint64
			fmt.Sscan(text, &token)
			tokens[w] = token
		}
	} else {
		q.checkTokens()
		for _, z := range q.rdb.client.ZRangeWithScores(q.ctx, q.keys[0], 0, -1).Val() {
			w, ends := z.Member.(string), time.UnixMicro(int64(z.Score))
			if q.lapsed[w] {
				continue
			}
			tokens[w], _ = q.rdb.client.HGet(q.ctx, q.keys[4], w).Uint64()
			if want := q.holders[w].ends; !want.meets(window{ends, ends}) {
				q.Errorf("%s holds the lock until %v, want %v", w, ends, want.from)
			}
		}
	}
	if got, want := slices.Sorted(maps.Keys(tokens)), slices.Sorted(maps.Keys(q.holders)); !slices.Equal(got, want) {
		q.Errorf("%q hold the lock, want %q", got, want)
	}
	return tokens
}

func (q *queueFuzz) checkTokens() {
	got := slices.Sorted(slices.Values(q.rdb.client.HKeys(q.ctx, q.keys[4]).Val()))
	want := slices.Sorted(maps.Keys(q.holders))
	want = slices.AppendSeq(slices.AppendSeq(want, maps.Keys(q.lapsed)), maps.Keys(q.freed))
	want = slices.DeleteFunc(want, func(w string) bool { return boxOf(w) == "C" }) // these have none
	slices.Sort(want)
	if !slices.Equal(got, want) {
		q.Errorf("the tokens of %q are there, want %q", got, want)
	}
	if len(want) > 0 {
		q.lives(q.keys[4], window{q.began, time.Now()}.add(24*time.Hour))
	}
}

func (q *queueFuzz) readMailboxes() (notifications []any) {
	for _, name := range []string{"A", "B"} {
		box := q.keys[3] + name
		texts := q.rdb.client.LRange(q.ctx, box, 0, -1).Val()
		for i, text := range texts {
			if _, full := q.stale[name]; full && i < 2 {
				continue
			}
			notifications = append(notifications, text)
			if _, _, span, _ := redislock.ReadNotification(text); i == len(texts)-1 {
				q.lives(box, q.sent.add(time.Minute+2*span))
			}
		}
		q.rdb.client.Del(q.ctx, box)
	}
	clear(q.stale)
	return notifications
}

func (q *queueFuzz) checkNotifications(notifications []any) {
	var given []string
	news := 0
	for _, l := range notifications {
		to, token, span, ok := redislock.ReadNotification(l.(string))
		switch soonest, _ := q.asks(0, false); {
		case !ok:
			q.Errorf("%q is not a notification", l)
		case token > 0:
			if given = append(given, to); token != q.tokens[to] || span != fuzzedGrant {
				q.Errorf("the notification %q, to a holder with token %d", l, q.tokens[to])
			}
		case len(q.queue) == 0 || to != q.queue[0] || !q.sent.add(span).meets(soonest):
			q.Errorf("the notification %q is not for the first of %v, who waits until %v", l, q.queue, soonest.from)
		default:
			news++
		}
	}
	if want := q.tells && len(q.queue) > 0; (news == 1) != want || news > 1 {
		q.Errorf("%d notifications tell the first of %v for how long the lock is taken, want one: %t", news, q.queue, want)
	}
	if got := slices.Sorted(slices.Values(given)); !slices.Equal(got, slices.Sorted(slices.Values(q.given))) {
		q.Errorf("notifications grant the lock to %q, want %q", got, q.given)
	}
}

const fuzzedSpan = 60_000 // ms

// FuzzQueueRubbish: for any data in the keys of the lock, a script answers or fails. Except for
// force, it neither takes nor hands over foreign data.
func FuzzQueueRubbish(f *testing.F) {
	at := locktest.Endpoint(f, harness.KindRedis)
	f.Add("another value", "C:1", "12", "C:1 0 1 0")
	f.Add("A:1", "", "rubbish", "rubbish")
	f.Add("A:1 ", "A", "1e400", "\x00 1 1 1")
	f.Add("", ":", "-1", "")
	f.Add("A:1 12", "x:1", "999999999999999999999", "A:1 1 99999999999999999999 1")
	rdb, scripts := dialServer(f, at), redislock.QueueScripts(false)
	f.Fuzz(func(t *testing.T, value, waiter, counter, notification string) {
		ctx, key := context.WithoutCancel(t.Context()), newKey()
		keys := []string{key, key + ":~queue", key + ":~token", key + ":~mail:"}
		box, _, _ := strings.Cut(waiter, ":")
		all := []string{keys[0], keys[1], keys[2], keys[3] + "A", keys[3] + box}
		defer rdb.client.Del(ctx, all...)
		for op, run := range scripts {
			rdb.client.Del(ctx, all...)
			rdb.client.Set(ctx, keys[0], value, 0)
			rdb.client.ZAdd(ctx, keys[1], redis.Z{Score: 1, Member: waiter})
			rdb.client.Set(ctx, keys[2], counter, 0)
			rdb.client.RPush(ctx, keys[3]+box, notification)
			args := []any{"A:1", fuzzedSpan}
			if op == "acquire" {
				args = append(args, fuzzedSpan, 1)
			}
			err := run(ctx, rdb.client, keys, args...).Err()
			if ours := value == "A:1" || strings.HasPrefix(value, "A:1 "); ours || op == "force" {
				continue
			}
			if got := rdb.client.Get(ctx, keys[0]).Val(); got != value {
				t.Errorf("%s makes %q of %q (%v)", op, got, value, err)
			}
		}
	})
}
