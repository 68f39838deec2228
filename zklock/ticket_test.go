package zklock

import (
	"context"
	"fmt"
	"math"
	"testing"

	"github.com/go-zookeeper/zk"
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
		{"x-lock--0000000001", 0, false},
		{"x-lock--000000000", 0, false},
		{"lock-lock-0000000007", 7, true},
		{"clock-0000000001", 0, false},
		{"lock-00000000001", 0, false},
		{"lock-000000001", 0, false},
		{"lock-2147483648", 0, false},
		{"lock-+000000001", 0, false},
		{"lock-", 0, false},
		{"lock--", 0, false},
		{"_c_x", 0, false},
		{"", 0, false},
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

// TestGave: exactly one kind of event is the lock.
func TestGave(t *testing.T) {
	for _, test := range []struct {
		what   string
		event  zk.EventType
		sealed bool
		cuts   int
		want   bool
	}{
		{"released", zk.EventNodeDataChanged, true, 0, true},
		{"gone", zk.EventNodeDeleted, true, 0, false},
		{"session over", zk.EventNotWatching, true, 0, false},
		{"not sealed, or written to before", zk.EventNodeDataChanged, false, 0, false},
		{"after a reconnect", zk.EventNodeDataChanged, true, 1, false},
	} {
		c := &Client{sessionState: sessionState{cuts: test.cuts}}
		w := &ticketWatch{sealed: test.sealed}
		if got := w.gave(c, zk.Event{Type: test.event}); got != test.want {
			t.Errorf("%s: the lock is given: %t, want %t", test.what, got, test.want)
		}
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
		own := &ticket{q: &queue{c: &Client{lifetime: lifetime{open: t.Context()}}}, ticketWait: ticketWait{own: fired(zk.EventNodeDeleted)}}
		w := &ticketWatch{wake: fired(zk.EventNodeDataChanged), sealed: true, taken: make(chan struct{})}
		v, err := own.wait(context.Background(), view{wake: w.wake, ticket: w})
		if v != (view{}) || err != nil {
			t.Fatalf("wait = %v, %v, want a look", v, err)
		}
	}
}
