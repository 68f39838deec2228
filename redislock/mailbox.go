package redislock

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// A notification is a message to a waiter.
type notification struct {
	err   error         // there will be no notifications
	again bool          // nothing is known: ask
	token uint64        // of the lock that the waiter has got, or 0: the lock is taken
	time  time.Duration // of the server's clock, when it was written
	span  time.Duration // for how long the lock is granted, or taken

	written time.Time // not later than when it was written
}

// A clock is what is known of the server's: our time before a request was sent,
// and the server's when it ran.
type clock struct {
	sent time.Time
	time time.Duration
}

// at returns a time that is not after the one the server's clock calls t, nor
// after now, even if one clock runs a two-thousandth faster than the other, which
// is as much as NTP makes of it.
func (c clock) at(t time.Duration, now time.Time) time.Time {
	since := t - c.time
	at := c.sent.Add(since - since.Abs()/2000)
	if at.After(now) { // the server's clock was set
		return now
	}
	return at
}

// parseNotification reads what the script post writes.
func parseNotification(text string) (to string, l notification, err error) {
	to, rest, _ := strings.Cut(text, " ")
	token, rest, _ := strings.Cut(rest, " ")
	written, span, _ := strings.Cut(rest, " ")
	l.token, err = strconv.ParseUint(token, 10, 64)
	micros, err2 := strconv.ParseUint(written, 10, 64)
	millis, err3 := strconv.ParseUint(span, 10, 64)
	if err != nil || err2 != nil || err3 != nil || to == "" || micros > math.MaxInt64/1000 || millis > uint64(maxLease.Milliseconds()) {
		return "", notification{}, fmt.Errorf("redislock: %q is not a notification", text)
	}
	l.time, l.span = time.Duration(micros)*time.Microsecond, time.Duration(millis)*time.Millisecond
	return to, l, nil
}

// A mailbox is where the notifications to this process about one lock come in, and what it
// knows of that lock: one for all locks of a client that have the same name. It is there
// for as long as anything of it is in use. c.mail guards what is not said when it is made.
type mailbox struct {
	c   *Client
	key string

	users    int // waiters, and releases under way
	waiters  map[string]*queued
	releases []*outgoing                // those under way
	gone     map[string]chan<- struct{} // waiters that have left and may be in the queue: what to tell of a grant
	clock    clock                      // of the server
	broke    time.Time                  // when notifications may have been lost for the last time
	late     bool                       // the latest notification to be read was as old as a grant
	grant    time.Duration              // the shortest grant timeout of its waiters until now
	again    time.Duration              // the shortest time after which one of them asks
	reader   *reader                    // nil while it is not read
	alone    bool                       // its reader must read no other
	left     time.Time                  // when the last waiter has left

	guarded *Mutex      // to check the latest hand-over with; nil if that has been done
	guardAt time.Time   // when
	guard   *time.Timer // nil before the first
}

// mailboxes are those of a client, by their keys.
type mailboxes struct {
	sync.Mutex
	boxes   map[string]*mailbox
	readers map[*reader]bool
	apart   bool   // a server does not take keys of different slots in one request
	numbers uint64 // of waiters
	closed  bool
}

// mailbox returns the mailbox of m, which the caller uses until drop. It holds c.mail.
func (m *Mutex) mailbox() *mailbox {
	mail, key := &m.c.mail, m.keys[3]+m.c.id
	b := mail.boxes[key]
	if b == nil {
		b = &mailbox{c: m.c, key: key, waiters: make(map[string]*queued), grant: m.o.HandoffTimeout, again: m.o.again()}
		mail.boxes[key] = b
	}
	b.users++
	b.grant, b.again = min(b.grant, m.o.HandoffTimeout), min(b.again, m.o.again())
	return b
}

// drop ends a use of b. The caller holds c.mail.
func (b *mailbox) drop() {
	b.users--
	b.forget()
}

// forget forgets b if it is not in use. The caller holds c.mail.
func (b *mailbox) forget() {
	if b.users == 0 && b.reader == nil && b.guarded == nil {
		delete(b.c.mail.boxes, b.key)
	}
}

// enter makes a waiter known to the reader of the mailbox.
func (m *Mutex) enter(t *Trace) *queued {
	mail := &m.c.mail
	mail.Lock()
	defer mail.Unlock()
	b := m.mailbox()
	mail.numbers++
	w := &queued{nonce: m.c.id + ":" + strconv.FormatUint(mail.numbers, 10) + m.kind.tag, box: b, notification: make(chan notification, 1), trace: t}
	b.waiters[w.nonce] = w
	for _, o := range b.releases {
		o.hurry()
	}
	return w
}

func (m *Mutex) leave(w *queued) {
	m.c.mail.Lock()
	defer m.c.mail.Unlock()
	b := w.box
	delete(b.waiters, w.nonce)
	if len(b.waiters) == 0 && b.reader != nil {
		b.left = m.c.clock.Now()
		b.reader.linger(mailboxLinger)
	}
	b.drop()
}

// heard notes the server's time. The latest is best: clocks drift. One from before the
// connection for notifications broke is of no use: it may lead to another server now, whose
// clock is another.
func (b *mailbox) heard(c clock) {
	b.c.mail.Lock()
	defer b.c.mail.Unlock()
	if c.sent.After(b.clock.sent) && c.sent.After(b.broke) {
		b.clock = c
	}
}

// guard notes that m is to check a hand-over. It returns false if the client is
// closed and it will not be done.
func (mail *mailboxes) guard(m *Mutex) bool {
	mail.Lock()
	defer mail.Unlock()
	if mail.closed {
		return false
	}
	b := m.mailbox()
	defer b.drop()
	wait := m.o.HandoffTimeout + watchLate
	b.guarded, b.guardAt = m, b.c.clock.Now().Add(wait)
	if b.guard == nil {
		b.guard = time.AfterFunc(wait, func() { b.c.spawn(b.check) })
	} else {
		b.guard.Reset(wait)
	}
	return true
}

// check checks the latest hand-over, if it is time.
func (b *mailbox) check() {
	b.c.mail.Lock()
	m := b.guarded
	if m == nil || b.c.clock.Now().Before(b.guardAt) { // a later one has put it off
		b.c.mail.Unlock()
		return
	}
	b.guarded = nil
	b.forget()
	b.c.mail.Unlock()
	m.check()
}

// close returns the mutexes that were to check hand-overs, which they will not.
func (mail *mailboxes) close() (guards []*Mutex) {
	mail.Lock()
	defer mail.Unlock()
	mail.closed = true
	for _, b := range mail.boxes {
		if b.guarded != nil {
			guards = append(guards, b.guarded)
			b.guard.Stop()
		}
	}
	return guards
}

// deliver gives a notification to the waiter it is for. One that has left has told
// the server so, or is about to. If it came with a reply, the request was sent at that
// time.
func (b *mailbox) deliver(text string, sent time.Time) {
	to, l, err := parseNotification(text)
	if err != nil {
		return // stopWord, or not one of ours
	}
	b.c.mail.Lock()
	defer b.c.mail.Unlock()
	now := b.c.clock.Now()
	switch {
	case !sent.IsZero():
		l.written = sent
	case b.clock.sent.IsZero(): // nothing is known of this server's clock
		l = notification{again: true}
	default:
		l.written = b.clock.at(l.time, now)
	}
	if w := b.waiters[to]; w != nil {
		w.put(l)
	} else if gone := b.gone[to]; gone != nil && (l.again || l.token > 0) {
		select {
		case gone <- struct{}{}: // so that it is given back at once
		default:
		}
	}
	if l.again {
		return // every waiter asks anyway, since the connection is another
	}
	old := now.Sub(l.written) >= b.grant
	if old { // the waiters may have been left out
		b.wakeAllLocked()
	}
	if sent.IsZero() {
		b.late = old
	}
}

// answer reads the reply to a release.
func answer(reply *redis.Cmd) (n int, notifications []string, err error) {
	parts, err := reply.Slice()
	if err != nil {
		return 0, nil, err
	}
	for i, part := range parts {
		switch part := part.(type) {
		case int64:
			n = int(part)
		case string:
			notifications = append(notifications, part)
		default:
			return 0, nil, fmt.Errorf("redislock: part %d of the server's reply is %v", i, part)
		}
	}
	return n, notifications, nil
}

// An outgoing is a release without a reply as yet. The reply may have a notification for one
// of the waiters: whenever it has taken as long as a grant lasts, they ask.
type outgoing struct {
	box   *mailbox
	grant time.Duration
	timer *time.Timer // nil while there are no waiters
	over  bool
}

// sends notes a release. The caller calls the end of it.
func (m *Mutex) sends() *outgoing {
	m.c.mail.Lock()
	defer m.c.mail.Unlock()
	o := &outgoing{box: m.mailbox(), grant: m.o.HandoffTimeout}
	o.box.releases = append(o.box.releases, o)
	if len(o.box.waiters) > 0 {
		o.hurry()
	}
	return o
}

// hurry makes sure that the waiters ask. The caller holds c.mail.
func (o *outgoing) hurry() {
	if o.timer == nil {
		o.timer = time.AfterFunc(o.grant, o.late)
	}
}

func (o *outgoing) late() {
	o.box.c.mail.Lock()
	defer o.box.c.mail.Unlock()
	if !o.over {
		o.box.wakeAllLocked()
		o.timer.Reset(o.grant)
	}
}

func (o *outgoing) end() {
	b := o.box
	b.c.mail.Lock()
	defer b.c.mail.Unlock()
	o.over = true
	if o.timer != nil {
		o.timer.Stop()
	}
	b.releases = slices.DeleteFunc(b.releases, func(other *outgoing) bool { return other == o })
	b.drop()
}

// failWaiters tells every waiter that notifications may be lost with a connection that ended
// with err, nil if it may go on, or that there will be none. The caller holds c.mail.
func (b *mailbox) failWaiters(err error) {
	b.broke, b.clock = b.c.clock.Now(), clock{}
	if !b.c.deaf(err) {
		b.wakeAllLocked()
		return
	}
	for _, w := range b.waiters {
		w.put(notification{err: err})
	}
}

// wakeAll lets every waiter ask.
func (b *mailbox) wakeAll() {
	b.c.mail.Lock()
	defer b.c.mail.Unlock()
	b.wakeAllLocked()
}

// wakeAllLocked is wakeAll. The caller holds c.mail.
func (b *mailbox) wakeAllLocked() {
	for _, w := range b.waiters {
		w.put(notification{again: true})
	}
}

// put leaves a notification for w, in place of one that it has not read. What grants
// the lock is not replaced by less, nor is what lets it ask by what does not.
func (w *queued) put(l notification) {
	select {
	case old := <-w.notification:
		if l.token == 0 && l.err == nil && (old.token > 0 || old.again) {
			l = old
		}
	default:
	}
	w.notification <- l
}
