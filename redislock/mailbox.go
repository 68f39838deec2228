package redislock

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// A letter is a message to a waiter.
type letter struct {
	err   error         // there will be no letters
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

// heard notes the server's time. The latest is best: clocks drift. One from before the
// connection for letters broke is of no use: it may lead to another server now, whose
// clock is another.
func (m *Mutex) heard(c clock) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if c.sent.After(m.clock.sent) && c.sent.After(m.broke) {
		m.clock = c
	}
}

// parseLetter reads what the script post writes.
func parseLetter(text string) (to string, l letter, err error) {
	to, rest, _ := strings.Cut(text, " ")
	token, rest, _ := strings.Cut(rest, " ")
	written, span, _ := strings.Cut(rest, " ")
	l.token, err = strconv.ParseUint(token, 10, 64)
	micros, err2 := strconv.ParseUint(written, 10, 64)
	millis, err3 := strconv.ParseUint(span, 10, 64)
	if err != nil || err2 != nil || err3 != nil || to == "" || micros > math.MaxInt64/1000 || millis > uint64(maxLease.Milliseconds()) {
		return "", letter{}, fmt.Errorf("redislock: %q is not a letter", text)
	}
	l.time, l.span = time.Duration(micros)*time.Microsecond, time.Duration(millis)*time.Millisecond
	return to, l, nil
}

const (
	// mailboxLinger is how long a mailbox is read after the last waiter has gone.
	mailboxLinger = 5 * time.Second

	// stopWord is what the process writes to itself to end the reading.
	stopWord = "stop"
)

func (m *Mutex) mailbox() string { return m.keys[3] + m.id }

// listen makes sure that somebody reads the mailbox.
func (m *Mutex) listen() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.reading {
		return nil
	}
	rdb, err := m.c.listener()
	if err != nil {
		return err
	}
	read := m.read
	if m.channel {
		read = m.hear
	}
	m.reading = m.c.spawn(func() { read(rdb) })
	return nil
}

// stopListening ends the reading if there are still no waiters.
func (m *Mutex) stopListening() {
	m.mu.Lock()
	over := m.reading && len(m.waiters) == 0
	m.mu.Unlock()
	if over {
		ctx, cancel := context.WithTimeout(m.c.open, unlockWait)
		defer cancel()
		// If it does not arrive the connection is broken, which ends it too.
		if m.channel {
			_ = m.c.rdb.Publish(ctx, m.mailbox(), stopWord).Err()
			return
		}
		_, _ = m.c.rdb.Pipelined(ctx, func(p redis.Pipeliner) error {
			p.RPush(ctx, m.mailbox(), stopWord)
			p.PExpire(ctx, m.mailbox(), 2*mailboxLinger)
			return nil
		})
	}
}

// read hands letters out until there is nobody to read for.
func (m *Mutex) read(rdb redis.UniversalClient) {
	var pause time.Duration
	for {
		// It does not wait for ever, lest letters go to a connection that is dead
		// without either end knowing.
		got, err := rdb.BLPop(m.c.open, max(m.o.again(), time.Second), m.mailbox()).Result()
		switch {
		case m.c.open.Err() != nil:
			return
		case errors.Is(err, redis.Nil):
			pause = 0
		case err != nil:
			m.unheard(err)
			pause = min(max(retryPause, 2*pause), retryMost)
			if !m.c.pause(m.c.open, pause) {
				return
			}
		default:
			pause = 0
			m.deliver(got[len(got)-1], time.Time{})
			runtime.Gosched() // the waiter goes on before the next request is written
		}
		if m.stop(err != nil || got[len(got)-1] == stopWord) {
			return
		}
	}
}

// stop ends the reading if that is wanted and nobody waits.
func (m *Mutex) stop(wanted bool) bool {
	if !wanted {
		return false
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.reading = len(m.waiters) > 0
	return !m.reading
}

// deliver gives a letter to the waiter it is for. One that has left has told
// the server so, or is about to. If it came with a reply, the request was sent at that
// time.
func (m *Mutex) deliver(text string, sent time.Time) {
	to, l, err := parseLetter(text)
	if err != nil {
		return // stopWord, or not one of ours
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	now := time.Now()
	switch {
	case !sent.IsZero():
		l.written = sent
	case m.clock.sent.IsZero(): // nothing is known of this server's clock
		l = letter{again: true}
	default:
		l.written = m.clock.at(l.time, now)
	}
	if w := m.waiters[to]; w != nil {
		w.put(l)
	} else if gone := m.left[to]; gone != nil && (l.again || l.token > 0) {
		select {
		case gone <- struct{}{}: // so that it is given back at once
		default:
		}
	}
	if l.again {
		return // every waiter asks anyway, since the connection is another
	}
	old := now.Sub(l.written) >= m.o.Grant
	if old { // the waiters may have been left out
		m.rouse()
	}
	if sent.IsZero() {
		m.late = old
	}
}

// answer reads the reply to a release.
func answer(reply *redis.Cmd) (n int, letters []string, err error) {
	parts, err := reply.Slice()
	if err != nil {
		return 0, nil, err
	}
	for i, part := range parts {
		switch part := part.(type) {
		case int64:
			n = int(part)
		case string:
			letters = append(letters, part)
		default:
			return 0, nil, fmt.Errorf("redislock: part %d of the server's reply is %v", i, part)
		}
	}
	return n, letters, nil
}

// An outgoing is a release without a reply as yet. The reply may have a letter for one
// of the waiters: whenever it has taken as long as a grant lasts, they ask.
type outgoing struct {
	m     *Mutex
	timer *time.Timer // nil while nobody waits
	over  bool
}

// sends notes a release. The caller calls the end of it.
func (m *Mutex) sends() *outgoing {
	o := &outgoing{m: m}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.releases = append(m.releases, o)
	if len(m.waiters) > 0 {
		o.hurry()
	}
	return o
}

// hurry makes sure that the waiters ask. The caller holds o.m.mu.
func (o *outgoing) hurry() {
	if o.timer == nil {
		o.timer = time.AfterFunc(o.m.o.Grant, o.late)
	}
}

func (o *outgoing) late() {
	o.m.mu.Lock()
	defer o.m.mu.Unlock()
	if !o.over {
		o.m.rouse()
		o.timer.Reset(o.m.o.Grant)
	}
}

func (o *outgoing) end() {
	m := o.m
	m.mu.Lock()
	defer m.mu.Unlock()
	o.over = true
	if o.timer != nil {
		o.timer.Stop()
	}
	m.releases = slices.DeleteFunc(m.releases, func(other *outgoing) bool { return other == o })
}

// unheard tells every waiter that letters may be lost with a connection that ended
// with err, or that there will be none.
func (m *Mutex) unheard(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.broke, m.clock = time.Now(), clock{}
	if !denied(err) {
		m.rouse()
		return
	}
	for _, w := range m.waiters {
		w.put(letter{err: err})
	}
}

// wakeAll lets every waiter ask.
func (m *Mutex) wakeAll() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.rouse()
}

// rouse is wakeAll for who holds m.mu.
func (m *Mutex) rouse() {
	for _, w := range m.waiters {
		w.put(letter{again: true})
	}
}

// put leaves a letter for w, in place of one that it has not read. What grants
// the lock is not replaced by less, nor is what lets it ask by what does not.
func (w *queued) put(l letter) {
	select {
	case old := <-w.letter:
		if l.token == 0 && l.err == nil && (old.token > 0 || old.again) {
			l = old
		}
	default:
	}
	w.letter <- l
}
