package redislock

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"locklab/internal/wire"
)

// TestReckoning: a lease or grant counts from before its request, less drift and margin.
func TestReckoning(t *testing.T) {
	const span, margin = 10 * time.Minute, 30 * time.Second
	for _, c := range []struct{ given, less time.Duration }{
		{span, span/100 + 2*time.Millisecond + margin},
		{2 * time.Minute, 2*time.Minute/100 + 2*time.Millisecond + 12*time.Second},
		{2 * span, span + span/100 + 2*time.Millisecond + margin}, // the next renewal shortens it to a lease
	} {
		l := &Lease{c: NewClient(nil, ClientOptions{}), span: span, margin: margin}
		sent := time.Now().Add(-time.Second)
		if !l.begin(sent, c.given) {
			t.Fatal("it is over at once")
		}
		if got := sent.Add(c.given).Sub(l.deadline); got != c.less {
			t.Errorf("given for %v it is taken to last %v less, want %v", c.given, got, c.less)
		}
		l.c.mu.Lock()
		l.refusal, l.unanswered, l.asking = errNoAnswer, true, true // of an earlier renewal
		if err := l.over(); !strings.Contains(err.Error(), min(c.given, span).String()) {
			t.Errorf("a lease of %v: %v", c.given, err)
		}
		renewed := l.extend(sent.Add(time.Millisecond)) && !l.extend(sent) && l.refusal == nil && !l.unanswered && !l.asking // an earlier one has been answered later
		if want := sent.Add(time.Millisecond + span - l.reserve(span)); !renewed || !l.deadline.Equal(want) {
			t.Errorf("renewed: %v, it ends %v late", renewed, l.deadline.Sub(want))
		}
		l.renewAt = sent.Add(time.Hour)
		if l.failed(sent, errNoAnswer); l.unanswered || !l.due().Equal(l.deadline) {
			t.Errorf("an earlier renewal that failed counts: %t; the watchdog runs %v late", l.unanswered, l.due().Sub(l.deadline))
		}
		l.failed(sent.Add(time.Second), errNoAnswer)
		if in := time.Until(l.renewAt); in > span/renewTries || !l.unanswered {
			t.Errorf("a renewal that failed is sent again in %v, as unanswered %v", in, l.unanswered)
		}
		l.c.mu.Unlock()
		l.end(ErrReleased)
		err := l.fail(errNoAnswer, sent)
		if l.c.Close(); !errors.Is(err, ErrNotHeld) || l.begin(time.Now(), span) {
			t.Errorf("Unlock without an answer before the deadline = %v, or a lease begins after Close", err)
		}
	}
}

// TestSoonest: a scheduled request is not postponed by another, and never due at once.
func TestSoonest(t *testing.T) {
	c := NewClient(nil, ClientOptions{})
	defer c.Close()
	m, late := c.queue("a", Options{TTL: maxLease}), &queued{box: &mailbox{c: c, late: true}}
	for ahead, want := range map[int]time.Duration{-1: time.Second, 0: time.Second, 9: 10 * time.Second, farBehind: time.Minute} {
		if lag := m.stagger(ahead); lag > m.o.HandoffTimeout || ahead < 10 && lag != max(0, time.Duration(ahead))*(m.o.HandoffTimeout/64) {
			t.Errorf("a waiter behind %d asks %v after the end of a lease", ahead, lag)
		}
		if got := late.patience(3*time.Second, time.Minute, ahead); got != want {
			t.Errorf("if messages are late, a waiter behind %d asks in %v, want %v", ahead, got, want)
		}
	}
	endless, long, short := m.asksAfter(-1, farBehind), m.asksAfter(time.Hour, farBehind), m.asksAfter(time.Millisecond, 0)
	if endless != time.Minute || long != time.Minute || short != time.Millisecond+watchLate {
		t.Errorf("a waiter asks in %v, %v and %v", endless, long, short)
	}
	if look, asks := m.checkAfter(farBehind), late.patience(maxLease, time.Minute, farBehind); look < time.Second || asks != time.Minute {
		t.Errorf("behind many waiters for a long lease, a waiter looks in %v and asks in %v", look, asks)
	}
	now := time.Now()
	past, soon, later := now.Add(-time.Second), now.Add(time.Hour), now.Add(2*time.Hour)
	for _, test := range []struct{ old, at, want time.Time }{
		{soon, later, soon}, {later, soon, soon}, {past, later, later}, {time.Time{}, soon, soon},
	} {
		if got := c.soonest(test.old, test.at); !got.Equal(test.want) {
			t.Errorf("%v after one at %v: %v", test.at.Sub(now), test.old.Sub(now), got.Sub(now))
		}
	}
}

type reply string

func (r reply) Error() string { return string(r) }
func (reply) RedisError()     {}

// verdicts repeats the tables, so that a changed row fails.
var verdicts = map[verdict][]string{
	unlisted: {"another", "EXECABORT", "BUSYKEY"},
	foreign:  {"WRONGTYPE"},
	retry: {"LOADING", "BUSY ", "MASTERDOWN", "NOREPLICAS", "CLUSTERDOWN", "TRYAGAIN", "NOSCRIPT", "MISCONF", "OOM", "IOERR",
		"UNBLOCKED", "max number of clients", "NOMASTERLINK", "NOGOODSLAVE", "INPROG"},
	elsewhere: {"READONLY"},
	redirect:  {"MOVED", "ASK ", "REDIRECT"},
	password:  {"WRONGPASS", "NOAUTH", "AUTH "},
	final:     {"NOPERM", "DENIED", "NOPROTO", "CROSSSLOT"},
}

var advices = map[string]string{"OOM": memory, "READONLY": primary, "WRONGTYPE": otherName, "NOPERM": rights,
	"WRONGPASS": credentials, "NOAUTH": credentials, "AUTH ": credentials}

// TestAnswers: the tables decide whether a Lock gives up, whether a renewal loses the lease, and
// what an error advises.
func TestAnswers(t *testing.T) {
	prefixes := slices.Clone(wire.TemporaryErrors)
	for _, r := range refusals {
		prefixes = append(prefixes, r.prefix)
	}
	for _, prefix := range prefixes {
		if !slices.Contains(slices.Concat(slices.Collect(maps.Values(verdicts))...), prefix) {
			t.Errorf("no verdict on %q is tested", prefix)
		}
	}
	for single, rdb := range map[bool]redis.UniversalClient{true: redis.NewClient(&redis.Options{}), false: redis.NewClusterClient(&redis.ClusterOptions{})} {
		defer rdb.Close()
		c := NewClient(rdb, ClientOptions{})
		defer c.Close()
		for _, admitted := range []bool{false, true} {
			c.admitted.Store(admitted)
			giveUp := map[verdict]bool{unlisted: true, foreign: true, redirect: single, final: true, password: !admitted}
			for verdict, prefixes := range verdicts {
				lost := giveUp[verdict] && verdict != unlisted && verdict != foreign
				for _, prefix := range prefixes {
					err := fmt.Errorf("a request: %w", reply(prefix+" for a reason"))
					if got := c.losesBy(err); got != (lost || verdict == foreign) {
						t.Errorf("%v: the answer to a renewal ends the lease: %t", err, got)
					}
					if verdictOf(err) != verdict || c.final(err) != giveUp[verdict] || c.settled(err) != lost {
						t.Errorf("%v: verdict %d, a Lock gives up: %t, a lease is lost: %t; want %d, %t and %t",
							err, verdictOf(err), c.final(err), c.settled(err), verdict, giveUp[verdict], lost)
					}
					want := err.Error()
					if advice := advices[prefix]; advice != "" {
						want += " (" + advice + ")"
					}
					if got := explain(err).Error(); got != want {
						t.Errorf("%q, want %q", got, want)
					}
				}
			}
		}
	}
}

// losesBy reports whether a lease ends when err answers its renewal.
func (c *Client) losesBy(err error) bool {
	l, reply := &Lease{c: c, span: time.Hour}, redis.NewCmd(context.Background())
	reply.SetErr(err)
	l.begin(c.clock.Now(), l.span)
	c.renewed([]*Lease{l}, []*redis.Cmd{reply}, c.clock.Now())
	return l.alive.Err() != nil
}

// TestLatePart: a part that joins a lease later counts, until it ends.
func TestLatePart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := NewClient(nil, WithSuspends(ClientOptions{}, func() time.Duration { return 0 }))
		defer c.Close()
		j := newJoint(c, "name", 2)
		var parts [3]*Lease
		for i := range parts {
			if i == j.need {
				j.begin()
			}
			parts[i] = &Lease{c: c, span: time.Hour, fixed: true}
			parts[i].begin(c.clock.Now(), time.Hour)
			j.add(parts[i])
		}
		for _, i := range []int{0, 2} {
			parts[i].end(ErrLost)
			synctest.Wait()
			if over := j.all.alive.Err() != nil; over != (i == 2) {
				t.Errorf("part %d has ended; the lease has: %t", i, over)
			}
		}
		parts[1].state.Store(stateRevoked) // by Shutdown, which ends it a moment later
		time.AfterFunc(time.Second, func() { parts[1].end(ErrLost) })
		if err := parts[1].Unlock(t.Context()); !errors.Is(err, ErrNotHeld) {
			t.Errorf("Unlock during Shutdown = %v, want ErrNotHeld", err)
		}
	})
}

// TestWaits: how long a waiter, a request and a client wait, by a virtual clock.
func TestWaits(t *testing.T) { synctest.Test(t, waits) }

func waits(t *testing.T) {
	rdb := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1", Dialer: func(context.Context, string, string) (net.Conn, error) { return nil, errNoAnswer }})
	defer rdb.Close()
	var sent, ended atomic.Int32
	rdb.AddHook(Hook(func(ctx context.Context, _ redis.Cmder, _ redis.ProcessHook) error { // no answer
		sent.Add(1)
		<-ctx.Done()
		ended.Add(1)
		return ctx.Err()
	}))
	c := NewClient(rdb, WithSuspends(ClientOptions{}, func() time.Duration { return 0 }))
	defer c.Close()
	m := c.Mutex("a", Options{HandoffTimeout: time.Second})
	w := m.enter(nil)
	for _, row := range []struct{ asks, taken time.Duration }{{time.Minute, time.Hour}, {time.Hour, time.Minute - watchLate}} {
		began := time.Now()
		w.until = began.Add(row.asks)
		w.put(notification{span: row.taken})
		if l, err := m.wait(t.Context(), w); l != nil || err != nil || time.Since(began) != time.Minute {
			t.Errorf("%+v: it waits for %v: %v, %v", row, time.Since(began), l, err)
		}
	}
	out := m.sends()
	for range 2 {
		if time.Sleep(out.grant + time.Millisecond); len(w.notification) == 0 {
			t.Fatal("a release has no answer, and a waiter does not ask after each grant timeout")
		}
		<-w.notification
	}
	out.end()
	out.late() // the timer has fired just before
	if time.Sleep(time.Hour); len(w.notification) > 0 {
		t.Error("a release has an answer, and a waiter asks")
	}
	if m.leave(w); len(c.mail.boxes) > 0 {
		t.Error("the mailbox stays without users")
	}
	var last time.Time
	until := c.clock.Now().Add(time.Minute)
	c.later("a", until, errUndoing, func(ctx context.Context) (bool, error) { last, _ = ctx.Deadline(); return false, errNoAnswer })
	l := m.lease(w, 1)
	l.begin(c.clock.Now(), l.span)
	<-l.Done()
	time.Sleep(time.Hour)
	synctest.Wait()
	if last.IsZero() || last.After(until) || c.unpaid() != nil {
		t.Errorf("the last try ends %v after the time for it, and Shutdown reports %v", last.Sub(until), c.unpaid())
	}
	if sent.Load() == 0 || ended.Load() < sent.Load() {
		t.Errorf("of %d renewals %d end with the lease", sent.Load(), ended.Load())
	}
	w = m.enter(nil)
	c.mail.Lock()
	(&reader{c: c, boxes: []*mailbox{w.box}}).disband(rdb)
	c.mail.Unlock()
	if len(w.notification) == 0 || !(<-w.notification).again {
		t.Error("the reader is replaced, whose later messages may be late, and the waiter does not ask")
	}
}

// TestHandoverCheck: a handover is checked after its grant, and late releases wake the waiters
// once in that time. Only the first Close passes the check on: a later one would begin a
// goroutine that the first no longer awaits, and panic.
func TestHandoverCheck(t *testing.T) {
	c := namesTest(t)
	m, began := c.queue("name", Options{HandoffTimeout: DefaultTTL}), c.clock.Now()
	m.watchOver()
	b := c.mail.boxes[m.keys[3]+c.id]
	if b.check(); b.guarded == nil || b.guardAt.Before(began.Add(DefaultTTL+watchLate)) {
		t.Errorf("a handover is checked %v after its grant began, of %v", b.guardAt.Sub(began), DefaultTTL)
	}
	w, woken := m.enter(nil), 0
	for range 3 { // releases that are late
		m.sends().late()
		woken += len(w.notification)
		w.notification = make(chan notification, 1)
	}
	if woken != 1 {
		t.Errorf("three late releases wake a waiter %d times in a grant, want once", woken)
	}
	if first, second := len(c.mail.close()), len(c.mail.close()); first != 1 || second != 0 {
		t.Errorf("%d checks are passed on, then %d; want 1, then none", first, second)
	}
}

// TestWatched: only connections whose server may be replaced are checked.
func TestWatched(t *testing.T) {
	dial := func(context.Context, string, string) (net.Conn, error) {
		conn, _ := net.Pipe() // neither end writes
		return conn, nil
	}
	for _, test := range []struct {
		name string
		rdb  redis.UniversalClient
		want bool
	}{
		{"one server", redis.NewClient(&redis.Options{Addr: "redis:6379", Dialer: dial}), false},
		{"by Sentinel", redis.NewClient(&redis.Options{Addr: byFailover, Dialer: dial}), true},
		{"cluster", redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{"redis:6379"}, Dialer: dial}), true},
	} {
		t.Run(test.name, func(t *testing.T) {
			defer test.rdb.Close()
			c := NewClient(test.rdb, ClientOptions{})
			defer c.Close()
			listener, err := c.listener()
			if err != nil {
				t.Fatal(err)
			}
			var by dialFunc
			switch l := listener.(type) {
			case *redis.Client:
				by = l.Options().Dialer
			case *redis.ClusterClient:
				by = l.Options().Dialer
			}
			conn, err := by(t.Context(), "tcp", "redis:6379")
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			if _, got := conn.(*watched); got != test.want {
				t.Errorf("a connection is checked: %t, want %t", got, test.want)
			}
		})
	}
}

func TestSubscriptionWakes(t *testing.T) {
	unlocked := &redis.Message{Payload: unlockMessage}
	readUnlocked := &redis.Message{Payload: readUnlockMessage}
	again := &redis.Subscription{Kind: "subscribe"}
	type leaving struct {
		waiter int
		served bool
	}
	for _, test := range []struct {
		name  string
		every bool
		hear  []any
		leave []leaving
		want  []bool // which of three are awake; false for waiters that have left
	}{
		{"nothing", false, nil, nil, []bool{false, false, false}},
		{"one message, one waiter", false, []any{unlocked}, nil, []bool{true, false, false}},
		{"two messages, two waiters", false, []any{unlocked, unlocked}, nil, []bool{true, true, false}},
		{"more messages than waiters", false, []any{unlocked, unlocked, unlocked, unlocked}, nil, []bool{true, true, true}},
		{"readers' message", false, []any{readUnlocked}, nil, []bool{true, true, true}},
		{"subscribed", false, []any{again}, nil, []bool{true, true, true}},
		{"a message of another kind", false, []any{&redis.Message{Payload: "2"}, &redis.Pong{}}, nil, []bool{false, false, false}},
		{"served", false, []any{unlocked}, []leaving{{0, true}}, []bool{false, false, false}},
		{"every waiter: one message", true, []any{unlocked}, nil, []bool{true, true, true}},
		{"every waiter: the connection failed", true, []any{nil}, nil, []bool{true, true, true}},
		{"every waiter: gives up", true, nil, []leaving{{0, false}}, []bool{false, false, false}},
		{"the connection failed", false, []any{nil}, nil, []bool{false, false, false}},
		{"gives up awake", false, []any{unlocked}, []leaving{{0, false}}, []bool{false, true, false}},
		{"all give up", false, []any{unlocked}, []leaving{{0, false}, {1, false}, {2, false}}, []bool{false, false, false}},
	} {
		s := &subscription{c: new(Client), every: test.every}
		waiters := []*listener{s.join(), s.join(), s.join()}
		for _, m := range test.hear {
			s.hear(m)
		}
		left := make(map[int]bool)
		for _, l := range test.leave {
			s.leave(waiters[l.waiter], l.served)
			left[l.waiter] = true
		}
		got := make([]bool, len(waiters))
		for i, w := range waiters {
			got[i] = len(w.woken) > 0 && !left[i]
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("%s: awake %v, want %v", test.name, got, test.want)
		}
	}
}
