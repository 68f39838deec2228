package redislock

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

type notification struct {
	err   error         // there will be no more notifications
	again bool          // messages may be lost: ask
	token uint64        // of the acquired lock; 0: the lock is taken
	time  time.Duration // server's time of writing
	span  time.Duration // how long the lock is granted or taken

	written time.Time // lower bound of the local time of writing
}

type clock struct {
	sent time.Time
	time time.Duration
}

// at returns a local time not after the server's time t and not after now. The clocks'
// rates may differ by 1/2000, the most that NTP adjusts.
func (c clock) at(t time.Duration, now time.Time) time.Time {
	since := t - c.time
	at := c.sent.Add(since - since.Abs()/2000)
	if at.After(now) { // the server's clock was set
		return now
	}
	return at
}

// parseNotification parses the format of the script post.
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

// A mailbox receives a process's notifications about one lock, and holds its state: one for
// all locks of a client with the same name. c.mail guards the fields that change.
// Its fields change together when a message arrives.
type mailbox struct {
	c   *Client
	key string

	users   int // waiters and running releases
	waiters map[string]*queued
	clock   clock         // of the server
	broke   time.Time     // when notifications may last have been lost
	late    bool          // the latest message read was as old as a grant
	grant   time.Duration // shortest grant timeout of its waiters until now
	again   time.Duration // shortest time after which one of them asks
	reader  *reader       // nil while it is not read
	alone   bool          // its reader must read no other mailbox
	left    time.Time     // when the last waiter left
	asked   time.Time     // when they were last woken for a late release

	guarding
}

type guarding struct {
	guarded *queue      // to check the latest handover with; nil if done
	guardAt time.Time   // when
	guard   *time.Timer // nil before the first
}

type mailboxes struct {
	sync.Mutex
	boxes   map[string]*mailbox
	readers map[*reader]bool
	apart   bool   // a server refuses keys of different slots in one request
	numbers uint64 // of waiters
	closed  bool
}

// mailbox returns the mailbox of m for use until drop. The caller holds c.mail.
func (m *queue) mailbox() *mailbox {
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

// The caller holds c.mail.
func (b *mailbox) drop() {
	b.users--
	b.forget()
}

// The caller holds c.mail.
func (b *mailbox) forget() {
	if b.users == 0 && b.reader == nil && b.guarded == nil {
		delete(b.c.mail.boxes, b.key)
	}
}

// enter registers a waiter with the reader of the mailbox.
func (m *queue) enter(t *Trace) *queued {
	mail := &m.c.mail
	mail.Lock()
	defer mail.Unlock()
	b := m.mailbox()
	mail.numbers++
	w := &queued{nonce: m.c.id + ":" + strconv.FormatUint(mail.numbers, 10) + m.kind.tag, box: b, notification: make(chan notification, 1), trace: t}
	b.waiters[w.nonce] = w
	return w
}

func (m *queue) leave(w *queued) {
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

// patience returns the time to wait before a request scheduled in watch. If notifications come
// too late, requests must discover grants: a waiter that asks three times in a grant timeout
// gets it in the reply. Later waiters ask less often.
func (w *queued) patience(grant, watch time.Duration, ahead int) time.Duration {
	mail := &w.box.c.mail
	mail.Lock()
	defer mail.Unlock()
	if !w.box.late {
		return watch
	}
	return min(watch, min(watch, grant/3)*time.Duration(1+min(max(ahead, 0), farBehind)))
}

const farBehind = 1000

// heard records the server's time, the latest, as clocks drift, unless the notification
// connection broke since: it may now lead to another server.
func (b *mailbox) heard(c clock) {
	b.c.mail.Lock()
	defer b.c.mail.Unlock()
	if c.sent.After(b.clock.sent) && c.sent.After(b.broke) {
		b.clock = c
	}
}

// guard schedules m to check a handover. It returns false if the client is closed.
func (mail *mailboxes) guard(m *queue) bool {
	mail.Lock()
	defer mail.Unlock()
	if mail.closed {
		return false
	}
	b := m.mailbox()
	defer b.drop()
	wait := m.o.HandoffTimeout + watchLate
	b.guarded, b.guardAt = m, b.c.clock.Now().Add(wait)
	b.guard = callAfter(b.guard, wait, func() { b.c.spawn(b.check) })
	return true
}

func (b *mailbox) check() {
	b.c.mail.Lock()
	m := b.guarded
	if m == nil || b.c.clock.Now().Before(b.guardAt) { // a later handover has postponed it
		b.c.mail.Unlock()
		return
	}
	b.guarded = nil
	b.forget()
	b.c.mail.Unlock()
	m.check()
}

// close returns the mutexes whose checks are now cancelled, once.
func (mail *mailboxes) close() (guards []*queue) {
	mail.Lock()
	defer mail.Unlock()
	for _, b := range mail.boxes {
		if b.guarded != nil && !mail.closed {
			guards = append(guards, b.guarded)
			b.guard.Stop()
		}
	}
	mail.closed = true
	return guards
}

// deliver passes a notification to its waiter. A waiter that has left has notified the server,
// or will. sent is the request's time if the notification came with a reply, else zero.
func (b *mailbox) deliver(text string, sent time.Time) {
	to, l, err := parseNotification(text)
	if err != nil {
		return // stopWord, or a foreign message
	}
	b.c.mail.Lock()
	defer b.c.mail.Unlock()
	now := b.c.clock.Now()
	switch {
	case !sent.IsZero():
		l.written = sent
	case b.clock.sent.IsZero(): // this server's clock is unknown
		l = notification{again: true}
	default:
		l.written = b.clock.at(l.time, now)
	}
	if w := b.waiters[to]; w != nil {
		w.put(l)
	}
	if l.again {
		return // every waiter asks anyway, on a new connection
	}
	old := now.Sub(l.written) >= b.grant
	if old { // the waiters may have been left out
		b.wakeAllLocked()
	}
	if sent.IsZero() {
		b.late = old
	}
}

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

// An outgoing is a release without a reply yet. The reply may carry a notification for one of the
// waiters, so they ask in each grant timeout while there is a late release. Any number of them
// wakes the waiters once: else a thousand that give up together would occupy c.mail.
type outgoing struct {
	box   *mailbox
	grant time.Duration
	timer *time.Timer
	over  bool
}

func (m *queue) sends() *outgoing {
	m.c.mail.Lock()
	defer m.c.mail.Unlock()
	o := &outgoing{box: m.mailbox(), grant: m.o.HandoffTimeout}
	o.timer = time.AfterFunc(o.grant, o.late)
	return o
}

func (o *outgoing) late() {
	o.box.c.mail.Lock()
	defer o.box.c.mail.Unlock()
	if o.over {
		return
	}
	now := o.box.c.clock.Now()
	if now.Sub(o.box.asked) >= o.grant {
		o.box.asked = now
		o.box.wakeAllLocked()
	}
	o.timer.Reset(o.box.asked.Add(o.grant).Sub(now))
}

func (o *outgoing) end() {
	o.box.c.mail.Lock()
	defer o.box.c.mail.Unlock()
	o.over = true
	o.timer.Stop()
	o.box.drop()
}

// failWaiters notifies every waiter that the connection ended with err, nil if another
// follows: messages may be lost, or none will come. The caller holds c.mail.
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

func (b *mailbox) wakeAll() {
	b.c.mail.Lock()
	defer b.c.mail.Unlock()
	b.wakeAllLocked()
}

func (b *mailbox) wakeAllLocked() {
	for _, w := range b.waiters {
		w.put(notification{again: true})
	}
}

// put leaves a notification for w. A taken lock does not replace a grant or a request to ask.
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
