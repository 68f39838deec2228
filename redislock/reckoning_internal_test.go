package redislock

import (
	"errors"
	"strings"
	"testing"
	"time"
)

// TestReckoning: a lease or grant counts from before its request, less drift and margin.
func TestReckoning(t *testing.T) {
	const span, margin = 10 * time.Minute, 30 * time.Second
	for _, c := range []struct{ given, less time.Duration }{
		{span, span/100 + 2*time.Millisecond + margin},
		{2 * time.Minute, 2*time.Minute/100 + 2*time.Millisecond + 12*time.Second},
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
		if err := l.over(); !strings.Contains(err.Error(), c.given.String()) {
			t.Errorf("a lease of %v: %v", c.given, err)
		}
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

// TestNotificationWithReply: it counts from before the request was sent.
func TestNotificationWithReply(t *testing.T) {
	c := NewClient(nil, ClientOptions{})
	defer c.Close()
	w := &queued{nonce: "w", notification: make(chan notification, 1)}
	b := &mailbox{c: c, waiters: map[string]*queued{"w": w}, grant: time.Hour}
	sent := time.Now().Add(-time.Minute)
	b.deliver("w 7 1 5000", sent)
	if got := <-w.notification; !got.written.Equal(sent) || got.token != 7 {
		t.Errorf("%+v, %v after the request", got, got.written.Sub(sent))
	}
}

// TestSoonest: a scheduled request is not postponed by another.
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
