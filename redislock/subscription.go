package redislock

import (
	"cmp"
	"context"
	"errors"
	"locklab/lock"
	"slices"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// A subscription listens to one channel for any number of waiters. It begins with the first
// waiter, and ends mailboxLinger after the last, so that successive waiters share it too.
//
// Messages are hints. A waiter joins before it asks the server. If the subscription is active
// then, the waiter gets every later message. If it begins or reconnects later, every waiter is
// woken to ask again. Only a connection that is dead without either end noticing hides a message
// longer: until the end of the lease that the server reported to the waiter.
type subscription struct {
	c *Client
	topic
	every bool // every message, and every failure, wakes all waiters

	// c.subs guards these.
	waiters []*listener   // in order of arrival
	pubsub  *redis.PubSub // nil while there is no subscription
	err     error         // why the last subscription failed
	idle    *time.Timer   // ends it; nil before the first
}

// A topic is a lock and its channel, which may be the channel of another lock too.
type topic struct{ lock, channel string }

type listener struct{ woken chan struct{} } // has room for one

// The messages of Redisson's locks, org.redisson.pubsub.LockPubSub.
const (
	unlockMessage     = "0" // the lock is free: one waiter is enough
	readUnlockMessage = "1" // wakes every waiter
)

// subscriptions are those of a client that have waiters or a connection.
type subscriptions struct {
	sync.Mutex
	all map[topic]*subscription
}

// messages returns how one Lock waits for a message of at, for ttl if it is unknown how long the
// lock is taken, and a function to call at its end.
func (c *Client) messages(at topic, every bool, ttl time.Duration) (waitFunc, func(served bool)) {
	s, w := c.join(at, every) // before the first attempt, so that no later message is missed
	return func(ctx context.Context, _ int, left time.Duration) (why lock.Wake, err error) {
		if err := s.listen(); err != nil {
			return "", err
		}
		select {
		case <-w.woken:
			why = lock.WakeMessage
		case <-time.After(cmp.Or(left, ttl) + watchLate):
			why = lock.WakeTime
		case <-ctx.Done():
		case <-s.c.serving.Done():
		}
		return why, errors.Join(s.c.ended(ctx), s.failure())
	}, func(served bool) { s.leave(w, served) }
}

func (c *Client) join(at topic, every bool) (*subscription, *listener) {
	c.subs.Lock()
	defer c.subs.Unlock()
	s := c.subs.all[at]
	if s == nil {
		s = &subscription{c: c, topic: at, every: every}
		c.subs.all[at] = s
	}
	return s, s.join()
}

// The caller holds c.subs.
func (s *subscription) join() *listener {
	w := &listener{woken: make(chan struct{}, 1)}
	s.waiters = append(s.waiters, w)
	if s.idle != nil {
		s.idle.Stop()
	}
	return w
}

// leave ends the wait of w. If w leaves without the lock, it passes its wake-up to another.
func (s *subscription) leave(w *listener, served bool) {
	s.c.subs.Lock()
	defer s.c.subs.Unlock()
	i := slices.Index(s.waiters, w)
	s.waiters = slices.Delete(s.waiters, i, i+1)
	if !served && !s.every { // else all are awake
		s.wakeOne()
	}
	switch {
	case len(s.waiters) > 0:
	case s.pubsub != nil:
		s.idle = callAfter(s.idle, mailboxLinger, s.stop)
	default:
		delete(s.c.subs.all, s.topic)
	}
}

func (s *subscription) stop() {
	s.c.subs.Lock()
	defer s.c.subs.Unlock()
	if len(s.waiters) == 0 && s.pubsub != nil {
		s.pubsub.Close() // also ends read
		s.pubsub = nil
		delete(s.c.subs.all, s.topic)
	}
}

// listen makes sure that the subscription exists or begins.
func (s *subscription) listen() error {
	s.c.subs.Lock()
	defer s.c.subs.Unlock()
	if s.pubsub != nil {
		return nil
	}
	rdb, err := s.c.listener()
	if err != nil {
		return err
	}
	pubsub := rdb.Subscribe(s.c.open)
	if !s.c.spawn(func() { s.read(pubsub) }) {
		pubsub.Close()
		return ErrClosed
	}
	s.pubsub, s.err = pubsub, nil
	return nil
}

func (s *subscription) read(pubsub *redis.PubSub) {
	// go-redis ignores contexts here.
	over := context.AfterFunc(s.c.open, func() { pubsub.Close() })
	defer over()
	// After a failure Receive connects and subscribes again.
	_ = pubsub.Subscribe(s.c.open, s.channel)
	var pause time.Duration
	for {
		got, err := pubsub.Receive(s.c.open)
		if !s.current(pubsub) {
			return
		}
		if err != nil {
			if s.refused(pubsub, err) {
				return
			}
			s.hear(nil)
			pause = min(max(retryPause, 2*pause), time.Second)
			if !s.c.pause(s.c.open, pause) {
				return
			}
			continue
		}
		pause = 0
		s.c.heard.Store(true)
		s.hear(got)
	}
}

// refused reports whether err rules out a subscription. Then it wakes all waiters, and the
// next one subscribes again: go-redis would wait for messages regardless.
func (s *subscription) refused(pubsub *redis.PubSub, err error) bool {
	if !s.c.deaf(err) {
		return false
	}
	s.c.subs.Lock()
	defer s.c.subs.Unlock()
	s.err = err
	if s.pubsub == pubsub {
		s.pubsub = nil
	}
	pubsub.Close()
	s.wakeAll()
	return true
}

func (s *subscription) failure() error {
	s.c.subs.Lock()
	defer s.c.subs.Unlock()
	return s.err
}

func (s *subscription) current(pubsub *redis.PubSub) bool {
	s.c.subs.Lock()
	defer s.c.subs.Unlock()
	return s.pubsub == pubsub && s.c.open.Err() == nil
}

func (s *subscription) hear(got any) {
	s.c.subs.Lock()
	defer s.c.subs.Unlock()
	switch got := got.(type) {
	case *redis.Subscription:
		s.wakeAll() // earlier messages may have been missed
	case *redis.Message:
		switch {
		case s.every || got.Payload == readUnlockMessage:
			s.wakeAll()
		case got.Payload == unlockMessage:
			s.wakeOne()
		}
	case nil: // the connection failed
		if s.every {
			s.wakeAll()
		}
	}
}

// The caller holds c.subs.
func (s *subscription) wakeOne() {
	for _, w := range s.waiters {
		if w.wake() {
			return
		}
	}
}

func (s *subscription) wakeAll() {
	for _, w := range s.waiters {
		w.wake()
	}
}

func (w *listener) wake() bool {
	select {
	case w.woken <- struct{}{}:
		return true
	default:
		return false
	}
}
