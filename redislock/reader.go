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
	// mailboxLinger is how long a mailbox is read after the last waiter has gone.
	mailboxLinger = 5 * time.Second

	// stopWord is what the process writes to itself to end a pop, or the reading.
	stopWord = "stop"

	// stopWait is how long that may take. A reader that does not hear it by then has a
	// connection that is dead.
	stopWait = time.Second

	// readerBoxes is how many mailboxes one reader reads: the names of all are sent, and
	// noted by the server, for each notification.
	readerBoxes = 32
)

// A reader reads some of the mailboxes of a client by one connection: by a blocking pop
// of all of them, or, if they are channels, one by a subscription. A mailbox that is added
// while a pop is under way ends that by a word in one of the others, so that it costs two
// requests more, and the next pop. One that is not needed any more is left out at the next
// pop. c.mail guards it.
type reader struct {
	c   *Client
	tag string // of the keys, if they must be in one slot; the key of one that is alone

	boxes []*mailbox  // in the order in which they were served, the last one last
	on    []*mailbox  // those of the pop that is under way
	over  *time.Timer // not nil while a word is under way that ends it
	idle  *time.Timer // ends the reading; nil before the first
}

// listen makes sure that the mailbox is read.
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

// readBy finds a reader for each of bs, and begins to read if there is none. The caller
// holds c.mail.
func (c *Client) readBy(rdb redis.UniversalClient, bs ...*mailbox) {
	_, single := rdb.(*redis.Client)
	for _, b := range bs {
		tag := ""
		switch {
		case b.alone:
			tag = b.key
		case c.mail.apart || !single:
			tag = hashTag(b.key)
		}
		r := c.mail.withRoom(b, tag)
		if r == nil {
			r = &reader{c: c, tag: tag}
			c.mail.readers[r] = true
			c.spawn(func() { r.read(rdb) }) // else the client is closed, and there is no waiter
		}
		r.boxes = append(r.boxes, b)
		b.reader = r
		r.call()
	}
}

// withRoom returns a reader that can read b too, or nil.
func (mail *mailboxes) withRoom(b *mailbox, tag string) *reader {
	for r := range mail.readers {
		if r.tag == tag && len(r.boxes) < readerBoxes {
			return r
		}
	}
	return nil
}

// call ends the pop that is under way, if there is one. If it does not end, others read
// what this one should. The caller holds c.mail.
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

// say writes the word that ends what is under way.
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

// replace leaves the mailboxes to other readers if the pop has still not ended. It goes
// on until it does, and what it gets is delivered.
func (r *reader) replace() {
	rdb, err := r.c.listener()
	r.c.mail.Lock()
	defer r.c.mail.Unlock()
	if r.over != nil && err == nil {
		r.disband(rdb)
	}
}

// disband leaves the mailboxes that are needed to other readers, and lets their waiters
// ask. The caller holds c.mail.
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

// end takes everything from r. The caller holds c.mail.
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

// linger lets r end after that time if it has no waiters by then. The caller holds c.mail.
func (r *reader) linger(d time.Duration) {
	if r.idle == nil {
		r.idle = time.AfterFunc(d, func() { r.c.spawn(r.rest) })
	} else {
		r.idle.Reset(d)
	}
}

// rest ends the reading if there has been no waiter for a while.
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

// read hands notifications out until there is no waiter to read for.
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
			runtime.Gosched() // the waiter goes on before the next request is written
			continue
		}
		pause = min(max(retryPause, 2*pause), retryMost)
		if !r.c.pause(r.c.open, pause) {
			return
		}
	}
}

// next returns what to pop from, and for how long: not for ever, lest notifications go to a
// connection that is dead without either end knowing. Mailboxes that have had no
// waiter for a while are left out; after a failure all that have none.
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

// popped hands out what a pop has brought, and reports whether r goes on.
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

// back notes that a pop is over, and returns the mailbox that it was served by, nil for
// none.
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

// A sticky is a client that keeps its connection between requests, if it can: others
// would have to be opened while those of many readers change hands.
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
