package redislock

import (
	"errors"
	"fmt"
	"testing"
	"time"
)

// TestReckoning: a lease counts from before the request that gave it, less clock drift and
// the margin, also one of a grant.
func TestReckoning(t *testing.T) {
	const span, margin = 10 * time.Second, 2 * time.Second
	for _, c := range []struct{ given, less time.Duration }{
		{span, 100*time.Millisecond + 2*time.Millisecond + margin},
		{2 * time.Second, 20*time.Millisecond + 2*time.Millisecond + 200*time.Millisecond},
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
		renewed := l.extend(sent.Add(time.Millisecond))
		if want := sent.Add(time.Millisecond + span - l.reserve(span)); !renewed || !l.deadline.Equal(want) {
			t.Errorf("renewed: %v, it ends %v late", renewed, l.deadline.Sub(want))
		}
		l.renewAt = sent.Add(time.Hour)
		l.failed(sent.Add(time.Second), errors.New("no answer"))
		if in := time.Until(l.renewAt); in > span/renewTries || !l.unanswered {
			t.Errorf("a renewal that failed is sent again in %v, as unanswered %v", in, l.unanswered)
		}
		l.c.mu.Unlock()
		l.c.Close()
	}
}

// TestNotificationTime: what a notification grants counts from when it was written at the
// latest, by the request it came with, or else by what is known of the server's clock.
func TestNotificationTime(t *testing.T) {
	c := NewClient(nil, ClientOptions{})
	defer c.Close()
	began := time.Now()
	ago := func(d time.Duration) time.Time { return began.Add(-d) }
	known := clock{ago(time.Hour), time.Hour} // the server's clock shows two hours now
	for name, test := range map[string]struct {
		clock   clock
		written time.Duration // by the server's clock
		sent    time.Time
		want    time.Time // zero: nothing is known, so that the waiter asks
	}{
		"with a reply":         {known, 2 * time.Hour, ago(time.Minute), ago(time.Minute)},
		"clock not known":      {clock{}, time.Hour, time.Time{}, time.Time{}},
		"written at the sight": {known, time.Hour, time.Time{}, ago(time.Hour)},
		"less what may drift":  {known, time.Hour + 2000*time.Second, time.Time{}, ago(time.Hour - 1999*time.Second)},
		"before the sight":     {known, time.Hour - 2000*time.Second, time.Time{}, ago(time.Hour + 2001*time.Second)},
	} {
		w := &queued{nonce: "w", notification: make(chan notification, 1)}
		b := &mailbox{c: c, clock: test.clock, waiters: map[string]*queued{"w": w}, grant: 3 * time.Hour}
		b.deliver(fmt.Sprintf("w 7 %d 5000", test.written.Microseconds()), test.sent)
		got := <-w.notification
		if test.want.IsZero() != got.again || !got.again && !got.written.Equal(test.want) {
			t.Errorf("%s: %+v, %v away", name, got, got.written.Sub(test.want))
		}
	}
	w := &queued{nonce: "w", notification: make(chan notification, 1)}
	b := &mailbox{c: c, clock: known, waiters: map[string]*queued{"w": w}, grant: 3 * time.Hour}
	b.deliver(fmt.Sprintf("w 7 %d 5000", (5*time.Hour).Microseconds()), time.Time{})
	if got := <-w.notification; got.written.After(time.Now()) {
		t.Errorf("by a clock that was set it was written in %v", time.Until(got.written))
	}
}

// TestServerClock: the latest sight of the server's clock counts, none from before the
// connection broke.
func TestServerClock(t *testing.T) {
	c := NewClient(nil, ClientOptions{})
	defer c.Close()
	b := &mailbox{c: c}
	now := time.Now()
	first, second := clock{now.Add(-time.Minute), 1}, clock{now, 2}
	for _, h := range []clock{first, second, first} {
		b.heard(h)
	}
	if b.clock != second {
		t.Errorf("after %v, %v and the first again: %v", first, second, b.clock)
	}
	b.failWaiters(nil)
	if b.heard(second); b.clock != (clock{}) {
		t.Errorf("after the connection broke: %v", b.clock)
	}
}

// TestSoonest: a request that was to be sent is not put off by another.
func TestSoonest(t *testing.T) {
	c := NewClient(nil, ClientOptions{})
	defer c.Close()
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
