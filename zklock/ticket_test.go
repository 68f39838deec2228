package zklock

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"

	"locklab/internal/boottime"
	"locklab/internal/zksession"
	"locklab/lock"
)

func TestNumber(t *testing.T) {
	for _, test := range []struct {
		name string
		want int32
		ok   bool
	}{
		{"_c_0123456789abcdef0123456789abcdef-lock-0000000000", 0, true},
		{"_c_0b6b0a4e-6a7e-4e0c-8b9a-3c1d2e3f4a5b-lock-0000000042", 42, true}, // Curator's
		{"lock-2147483647", math.MaxInt32, true},
		{"x-lock--2147483648", math.MinInt32, true}, // after the greatest
		{"x-lock--000000001", -1, true},             // a billion later
		{"lock-lock-0000000007", 7, true},
		{"x-lock--0000000001", 0, false}, {"x-lock--000000000", 0, false}, {"clock-0000000001", 0, false},
		{"lock-00000000001", 0, false}, {"lock-000000001", 0, false}, {"lock-2147483648", 0, false},
		{"lock-+000000001", 0, false}, {"lock-", 0, false}, {"lock--", 0, false}, {"_c_x", 0, false}, {"", 0, false},
	} {
		if got, ok := number(test.name, "lock-"); ok && got != test.want || ok != test.ok {
			t.Errorf("number(%q) = %d, %t, want %d, %t", test.name, got, ok, test.want, test.ok)
		}
	}
}

// FuzzNumber: every number behind any of our names is parsed, and no name breaks the parser.
func FuzzNumber(f *testing.F) {
	f.Add("_c_x-lock-", int32(1))
	f.Add("lock--lock-", int32(math.MinInt32))
	f.Fuzz(func(t *testing.T, name string, n int32) {
		number(name, "lock-")
		full := fmt.Sprintf("%s-lock-%010d", name, n)
		if got, ok := number(full, "lock-"); !ok || got != n {
			t.Errorf("number(%q) = %d, %t, want %d", full, got, ok, n)
		}
	})
}

// TestFirstToken: the tokens of the holders of one ticket fit between zxids.
func TestFirstToken(t *testing.T) {
	for _, zxid := range []uint64{1, 1 << 32, maxZxid - 1} {
		mine, err1 := firstToken(zxid)
		next, err2 := firstToken(zxid + 1)
		if last := mine + MaxHandovers; err1 != nil || err2 != nil || mine == 0 || last < mine || last >= next {
			t.Errorf("zxid %#x: tokens %d to %d before %d, %v, %v", zxid, mine, last, next, err1, err2)
		}
	}
	if token, err := firstToken(maxZxid + 1); err == nil {
		t.Errorf("zxid %#x becomes token %d", uint64(maxZxid+1), token)
	}
}

// TestTicketWatchShared: whichever waiter takes the event out of the channel, all get it.
func TestTicketWatchShared(t *testing.T) {
	wake := make(chan zk.Event, 1)
	w := &ticketWatch{wake: wake, sealed: true, taken: make(chan struct{})}
	if w.fired() {
		t.Fatal("fired before the event")
	}
	wake <- zk.Event{Type: zk.EventNodeDataChanged} // like the library
	close(wake)
	for range 2 {
		if !w.fired() {
			t.Error("not fired after the event")
		}
	}
	ev, ok := <-wake
	if ok {
		t.Fatal("the test shows nothing: the event was still there")
	}
	if got := w.take(ev, ok); got.Type != zk.EventNodeDataChanged || !w.gave(new(Client), got) {
		t.Errorf("a later receiver sees %v", got)
	}
}

// TestWaitDisturbed: the removal of the own ticket counts before the release of the one ahead.
func TestWaitDisturbed(t *testing.T) {
	fired := func(event zk.EventType) <-chan zk.Event {
		c := make(chan zk.Event, 1)
		c <- zk.Event{Type: event}
		close(c)
		return c
	}
	for range 100 { // select is random
		own := &ticket{czxid: 1, q: &queue{c: &Client{lifetime: lifetime{open: t.Context()}}}, ticketWait: ticketWait{own: fired(zk.EventNodeDeleted)}}
		w := &ticketWatch{wake: fired(zk.EventNodeDataChanged), sealed: true, taken: make(chan struct{})}
		v, err := own.wait(context.Background(), view{wake: w.wake, ticket: w, gives: true})
		if v != (view{}) || err != nil {
			t.Fatalf("wait = %v, %v, want a look", v, err)
		}
	}
}

func TestPlaces(t *testing.T) {
	line := places([]string{
		"_c_x-__WRIT__0000000004", "foreign", "_c_y-__READ__0000000002", "_c_z-__READ__0000000003",
		"_c_w-__WRIT__0000000001", "_c_v-lock-0000000000", "_c_u-__READ__--00000000",
	}, readKind, writeKind)
	var got string
	for _, p := range line {
		got += p.Name[3:4]
	}
	if got != "wyzx" {
		t.Errorf("the order is %q, want wyzx", got)
	}
	// The counter wraps around at 32 bits.
	line = places([]string{"_c_b-lock--2147483648", "_c_c-lock--2147483647", "_c_a-lock-2147483647"}, "lock-")
	if len(line) != 3 || line[0].Name[3] != 'a' || line[1].Name[3] != 'b' {
		t.Errorf("across the greatest number the order is %v", line)
	}
	line = places([]string{"_c_d-lock-0000000000", "_c_c-lock--000000001", "clock-0000000000"}, "lock-")
	if len(line) != 2 || line[0].Name[3] != 'c' {
		t.Errorf("across zero the order is %v", line)
	}
}

// TestNodeWatchAfterCut: after a lost connection a watch without an event proves nothing.
func TestNodeWatchAfterCut(t *testing.T) {
	w := nodeWatch{fired: make(chan zk.Event, 1), cuts: 1}
	if !w.pending(moment{cuts: 1}) || w.pending(moment{cuts: 2}) {
		t.Error("want pending on the connection of the watch, and on no other")
	}
}

// TestHistoryInUse: the history of a plain ticket stays, or its client could make a second one.
func TestHistoryInUse(t *testing.T) {
	s := histories{by: make(map[string]*history)}
	s.take("held")
	for i := range 100 {
		s.leave(s.take(fmt.Sprint(i)))
	}
	if s.take("held") != nil {
		t.Error("a client has two plain tickets in a queue")
	}
}

// TestForecast: y: the ticket ahead has the predicted number, n: not; capitals: asked by name.
func TestForecast(t *testing.T) {
	for _, test := range []struct{ seen, want string }{
		{"yyyy", "yYYY"},
		{"nnnn", "nnnn"},
		{"ynyn", "yNyn"}, // no savings to pay for it: then after two in a row
		{"ynnyynyyyyy", "yNnyyNyyyyY"},
		{"yyyynyy", "yYYYNyY"}, // two were saved before it
	} {
		var f forecast
		var got []rune
		for _, r := range test.seen {
			byName := f.byName()
			f.note(r == 'y')
			if byName {
				r += 'A' - 'a'
			}
			got = append(got, r)
		}
		if string(got) != test.want {
			t.Errorf("%s: asked as in %s, want %s", test.seen, string(got), test.want)
		}
	}
}

func TestTag(t *testing.T) {
	for data, want := range map[string]struct {
		tag
		ok bool
	}{
		"zklock-sealed 1 id a name": {tag{"id", "a name"}, true}, "zklock-sealed 1 id ": {tag{"id", ""}, true},
		"zklock-sealed 01 id name": {}, "zklock-sealed 1  name": {}, "zklock-sealed 1 id": {},
		"zklock-sealed 2 id name": {}, "10.0.0.1": {}, "": {}, // a later version, Curator's, of zk.Lock
		"zklock: sealed until it is released": {}, // before there were versions
	} {
		if got, ok := parseTag([]byte(data)); got != want.tag || ok != want.ok {
			t.Errorf("%q: %v, %v, want %v, %v", data, got, ok, want.tag, want.ok)
		}
		if got := nameIn([]byte(data)); strings.HasPrefix(data, "zklock") && got != want.name {
			t.Errorf("%q has the name %q, want %q", data, got, want.name)
		}
	}
	for name, ok := range map[string]bool{"": true, "reindex on host 7": true, "a\nb": false, strings.Repeat("x", 257): false} {
		if err := checkName(name); (err == nil) != ok {
			t.Errorf("the name %.20q: %v", name, err)
		}
	}
}

// FuzzTag: data that a client writes is parsed again, and no data breaks the parser.
func FuzzTag(f *testing.F) {
	f.Add("name", []byte("zklock-sealed 1 id name"))
	f.Fuzz(func(t *testing.T, name string, data []byte) {
		want := tag{"ID", name}
		if got, ok := parseTag(want.data()); !ok || got != want {
			t.Errorf("%q became %v, %v", name, got, ok)
		}
		if got, ok := parseTag(data); ok && string(got.data()) != string(data) {
			t.Errorf("%q became %q", data, got.data())
		}
	})
}

// TestTraceAbsent: without a Trace the steps allocate nothing, and with one they do.
func TestTraceAbsent(t *testing.T) {
	ctx := context.WithValue(t.Context(), t, "something else")
	c := &Client{lifetime: lifetime{open: t.Context()}}
	q := &queue{c: c, path: "/a"}
	l := &Lease{q: q, life: newLife(t.Context())}
	event := make(chan zk.Event)
	close(event)
	waiting := &ticket{q: q, p: fairQueue}
	if n := testing.AllocsPerRun(500, func() {
		_, a := q.begin(ctx)
		a.end(l, nil)
		waiting.queued = false
		if _, err := waiting.wait(ctx, view{wake: event}); err != nil {
			t.Error(err)
		}
		l.released()
	}); n != 0 {
		t.Errorf("a Lock without a Trace allocates %v times for it", n)
	}
	traced := WithTrace(ctx, &Trace{Queued: func(lock.QueuedInfo) {}})
	if n := testing.AllocsPerRun(500, func() { q.begin(traced) }); n == 0 {
		t.Error("a Lock with a Trace allocates nothing: the test shows nothing")
	}
}

// TestGuardLeavesLimit: neither a guard nor the loss of a Multi's mutex reads the limit of a
// lease, which Lock is setting.
func TestGuardLeavesLimit(t *testing.T) {
	l := &Lease{q: &queue{c: &Client{lifetime: lifetime{open: t.Context(), live: t.Context()}}}, life: newLife(t.Context())}
	l.limit.Begin(t.Context(), time.Nanosecond, func() time.Time { return time.Time{} }, func() {})
	l.state.Store(stateUnlocked)
	own := make(chan zk.Event)
	close(own)
	if l.guard(own); l.alive.Err() != nil {
		t.Errorf("the guard has ended the lease: %v", context.Cause(l.alive))
	}
	synctest.Test(t, func(t *testing.T) {
		part := &Lease{q: l.q, life: newLife(t.Context())}
		all := join([]*Lease{part})
		part.end(ErrLost) // to read the limit is to read the deadline of a client without a connection
		<-all.Done()

		overdue, lost := &Lease{q: l.q, life: newLife(t.Context())}, &Lease{q: l.q, life: newLife(t.Context())}
		overdue.state.Store(stateOverdue)
		time.AfterFunc(time.Second, func() { overdue.end(ErrLost) })
		lost.free = func() (bool, error) { time.Sleep(time.Minute); return true, nil }
		lost.end(ErrLost)
		began := time.Now()
		if one, two := lost.Unlock(t.Context()), overdue.Unlock(t.Context()); !errors.Is(one, ErrLost) || !errors.Is(two, ErrLost) || time.Since(began) != time.Second {
			t.Errorf("Unlock of what is lost = %v, and of what is being lost = %v, after %v", one, two, time.Since(began))
		}
		l.q.c.work.Wait()
	})
}

// TestOwnerKeepsNext: the Unlock of a lost possession leaves the next one of the owner.
func TestOwnerKeepsNext(t *testing.T) {
	lost, l, next := &Lease{life: newLife(t.Context())}, new(Lease), new(possession)
	lost.end(ErrLost)
	lost.freed.Do(func() {}) // its ticket is gone
	o := &Owner{now: next}
	if held, _ := (&possession{owner: o, outer: lost, holds: map[*Lease]bool{l: true}}).leave(l); held || o.now != next {
		t.Errorf("the lost one was held: %t; the next is kept: %t", held, o.now == next)
	}
}

// TestShutdownLeavesParts: Shutdown does not end the mutexes of a Multi whose Unlock has begun.
func TestShutdownLeavesParts(t *testing.T) {
	first := &Lease{q: &queue{c: new(Client)}, life: newLife(t.Context()), free: func() (bool, error) { return true, nil }}
	last := &Lease{q: first.q, life: newLife(t.Context()), free: func() (bool, error) { return !first.revoke(ErrClosed), nil }}
	if held, err := join([]*Lease{first, last}).free(); !held || err != nil {
		t.Errorf("held = %t, %v", held, err)
	}
}

// TestRenewedWithinMaxHold: a lease that MaxHold ends first does not last longer. Until is a time of
// Go's clock, without the suspends.
func TestRenewedWithinMaxHold(t *testing.T) {
	clock := boottime.New(func(time.Time) time.Duration { return time.Minute })
	for maxHold, want := range map[time.Duration]time.Duration{0: 59 * time.Minute, 30 * time.Minute: 29 * time.Minute, time.Second: 0} {
		c := &Client{conn: new(zksession.Conn), settings: settings{clock: clock, margin: -time.Hour}}
		var got time.Time
		l := &Lease{q: &queue{c: c}, life: newLife(t.Context()), trace: &Trace{Renewed: func(e lock.RenewedInfo) { got = e.Until }}}
		if maxHold > 0 {
			l.limit.Begin(l.alive, maxHold, func() time.Time { return time.Time{} }, func() {})
		}
		c.traced = map[*Lease]time.Time{l: time.Time{}.Add(time.Second)}
		if c.renewed(); !got.Equal(time.Time{}.Add(want)) {
			t.Errorf("with a MaxHold of %v Renewed is called with %v, want %v behind 0", maxHold, got, want)
		}
		l.end(nil)
	}
}
