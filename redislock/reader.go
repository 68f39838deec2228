package redislock

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	// mailboxLinger is how long a mailbox is read after its last waiter has left.
	mailboxLinger = 5 * time.Second

	// stopWord is the process's own message that ends a pop or the reading.
	stopWord = "stop"

	// stopWait bounds that. A reader that has not received it by then has a dead connection.
	stopWait = time.Second

	// readerBoxes is the number of mailboxes per reader: every pop sends all their names,
	// and the server registers them, for each notification.
	readerBoxes = 32
)

// A reader reads some of the mailboxes of a client on one connection, with a blocking pop. A
// mailbox that is added during a pop ends it with a stopWord in another mailbox, which costs two
// requests and the next pop. An unneeded mailbox is dropped at the next pop. c.mail guards it.
type reader struct {
	c   *Client
	tag string // of the keys, if they must be in one slot; the whole key if the mailbox is alone

	boxes []*mailbox  // the last one served is last
	on    []*mailbox  // those of the running pop
	over  *time.Timer // not nil while a stopWord is on its way
	idle  *time.Timer // ends the reading; nil before the first
}

func (b *mailbox) listen() error {
	mail := &b.c.mail
	mail.Lock()
	defer mail.Unlock()
	if b.reader != nil {
		return nil
	}
	rdb, err := b.c.listener()
	if err != nil {
		return err
	}
	b.c.readBy(rdb, b)
	return nil
}

// readBy finds or starts a reader for b. The caller holds c.mail.
func (c *Client) readBy(rdb redis.UniversalClient, b *mailbox) {
	_, single := rdb.(*redis.Client)
	tag := ""
	switch {
	case b.alone:
		tag = b.key
	case c.mail.apart || !single:
		tag = hashTag(b.key)
	}
	r := c.mail.withRoom(tag)
	if r == nil {
		r = &reader{c: c, tag: tag}
		c.mail.readers[r] = true
		c.spawn(func() { r.read(rdb) }) // else the client is closed, and has no waiters
	}
	r.boxes = append(r.boxes, b)
	b.reader = r
	r.call()
}

func (mail *mailboxes) withRoom(tag string) *reader {
	for r := range mail.readers {
		if r.tag == tag && len(r.boxes) < readerBoxes {
			return r
		}
	}
	return nil
}

// call ends the running pop, or other readers take the mailboxes. The caller holds c.mail.
func (r *reader) call() {
	if len(r.on) == 0 || r.over != nil {
		return
	}
	key := r.on[0].key
	r.over = time.AfterFunc(stopWait, func() { r.c.spawn(r.replace) })
	r.c.spawn(func() {
		if err := r.say(key); err != nil {
			r.replace()
		}
	})
}

func (r *reader) say(key string) error {
	ctx, cancel := context.WithTimeout(r.c.open, unlockWait)
	defer cancel()
	_, err := r.c.rdb.Pipelined(ctx, func(p redis.Pipeliner) error {
		p.RPush(ctx, key, stopWord)
		p.PExpire(ctx, key, 2*mailboxLinger)
		return nil
	})
	return err
}

// replace gives the mailboxes to other readers if the pop has still not ended.
func (r *reader) replace() {
	rdb, err := r.c.listener()
	r.c.mail.Lock()
	defer r.c.mail.Unlock()
	if r.over != nil && err == nil {
		r.disband(rdb)
	}
}

// disband gives the mailboxes with waiters to other readers, and lets those waiters ask.
// The caller holds c.mail.
func (r *reader) disband(rdb redis.UniversalClient) {
	boxes := r.boxes
	r.end()
	for _, b := range boxes {
		if len(b.waiters) == 0 {
			b.forget()
			continue
		}
		b.failWaiters(nil) // it will be another connection
		r.c.readBy(rdb, b)
	}
}

// end detaches all mailboxes from r. The caller holds c.mail.
func (r *reader) end() {
	for _, b := range r.boxes {
		b.reader = nil
	}
	r.boxes = nil
	delete(r.c.mail.readers, r)
	if r.idle != nil {
		r.idle.Stop()
	}
}

// linger lets r end after d if it has no waiters then. The caller holds c.mail.
func (r *reader) linger(d time.Duration) {
	r.idle = callAfter(r.idle, d, func() { r.c.spawn(r.rest) })
}

func (r *reader) rest() {
	r.c.mail.Lock()
	defer r.c.mail.Unlock()
	var last time.Time
	for _, b := range r.boxes {
		if len(b.waiters) > 0 {
			return
		}
		if b.left.After(last) {
			last = b.left
		}
	}
	if wait := mailboxLinger - r.c.clock.Since(last); wait > 0 {
		r.linger(wait)
	} else {
		r.call()
	}
}

func (r *reader) read(rdb redis.UniversalClient) {
	s := &sticky{rdb: rdb}
	defer s.end()
	var pause time.Duration
	for failed := false; ; {
		keys, timeout := r.next(failed)
		if len(keys) == 0 {
			return
		}
		got, err := s.pop(r.c.open, timeout, keys)
		if r.c.open.Err() != nil {
			return
		}
		failed = err != nil && !errors.Is(err, redis.Nil)
		if !r.popped(rdb, got, err, failed) {
			return
		}
		if !failed {
			pause = 0
			runtime.Gosched() // the waiter runs before the next request is written
			continue
		}
		pause = min(max(retryPause, 2*pause), retryMost)
		if !r.c.pause(r.c.open, pause) {
			return
		}
	}
}

// next returns the keys and timeout of the next pop, finite because a connection may be dead
// unnoticed. Mailboxes without a waiter for a while are dropped; after a failure, at once.
func (r *reader) next(failed bool) (keys []string, timeout time.Duration) {
	r.c.mail.Lock()
	defer r.c.mail.Unlock()
	now := r.c.clock.Now()
	r.boxes = slices.DeleteFunc(r.boxes, func(b *mailbox) bool {
		if len(b.waiters) > 0 || !failed && now.Sub(b.left) < mailboxLinger {
			return false
		}
		b.reader = nil
		b.forget()
		return true
	})
	if len(r.boxes) == 0 {
		r.end()
		return nil, 0
	}
	timeout = r.boxes[0].again
	for _, b := range r.boxes {
		keys = append(keys, b.key)
		timeout = min(timeout, b.again)
	}
	r.on = slices.Clone(r.boxes)
	return keys, max(timeout, time.Second)
}

func (r *reader) popped(rdb redis.UniversalClient, got []string, err error, failed bool) bool {
	b := r.back(got)
	if b != nil {
		b.deliver(got[1], time.Time{})
	}
	if !failed {
		r.c.heard.Store(true)
		return true
	}
	deaf := r.c.deaf(err)
	r.c.mail.Lock()
	defer r.c.mail.Unlock()
	r.c.mail.apart = r.c.mail.apart || redis.HasErrorPrefix(err, "CROSSSLOT")
	if len(r.boxes) > 1 && (deaf || r.c.mail.apart && r.tag == "") {
		for _, b := range r.boxes {
			b.alone = deaf // the answer does not name the key
		}
		r.disband(rdb)
		return false
	}
	for _, b := range r.boxes {
		b.failWaiters(err)
	}
	return true
}

// back records the end of a pop, and returns the mailbox that got a message, or nil.
func (r *reader) back(got []string) *mailbox {
	r.c.mail.Lock()
	defer r.c.mail.Unlock()
	r.on = nil
	if r.over != nil {
		r.over.Stop()
		r.over = nil
	}
	if len(got) != 2 {
		return nil
	}
	if i := slices.IndexFunc(r.boxes, func(b *mailbox) bool { return b.key == got[0] }); i >= 0 {
		b := r.boxes[i]
		r.boxes = append(slices.Delete(r.boxes, i, i+1), b)
		return b
	}
	return r.c.mail.boxes[got[0]] // another reader has it now
}

// A sticky is a client that keeps its connection between requests, if it can. Otherwise the
// pool would open more connections while many readers exchange theirs.
type sticky struct {
	rdb  redis.UniversalClient
	conn *redis.Conn // nil before the first request, and after a failure
}

func (s *sticky) pop(ctx context.Context, timeout time.Duration, keys []string) ([]string, error) {
	rdb, ok := s.rdb.(*redis.Client)
	if !ok {
		return s.rdb.BLPop(ctx, timeout, keys...).Result()
	}
	if s.conn == nil {
		s.conn = rdb.Conn()
	}
	got, err := s.conn.BLPop(ctx, timeout, keys...).Result()
	if err != nil && !errors.Is(err, redis.Nil) {
		s.end()
	}
	return got, err
}

func (s *sticky) end() {
	if s.conn != nil {
		s.conn.Close()
		s.conn = nil
	}
}
