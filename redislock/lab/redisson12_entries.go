package lab

import (
	"context"
	"sync"
)

// entries12 lets the waiters of a process share one subscription: Redisson 1.2.0's ENTRIES.
// That is one map for the process; one map per lock of a client is equivalent, with one key.
//
// # Why the count of waiters is not an atomic integer
//
// The waiter that counts down to zero removes the entry, and between these two steps another
// may count it up again. With an atomic integer in the entry, remove(key, entry) still finds
// the same entry and removes it. The new waiter then sleeps on an entry that no message
// reaches, on an unsubscribed channel. So an entry never changes. Counting replaces it by a
// copy: a compare-and-swap of identity and count together. remove(key, entry) then fails if
// another has counted since.
type entries12 struct {
	m       sync.Map   // "" to *entry12
	mu      sync.Mutex // from a change of the map to its SUBSCRIBE or UNSUBSCRIBE
	hub     *hub
	channel string
	before  func(step string)
}

type entry12 struct {
	waiters int
	latch   chan struct{} // a semaphore: holds the permits
	promise *promise12    // of the subscription
}

type promise12 struct {
	once sync.Once
	kept chan struct{}
	err  error
}

func (p *promise12) keep(err error) {
	p.once.Do(func() {
		p.err = err
		close(p.kept)
	})
}

func newEntry12() *entry12 {
	return &entry12{1, make(chan struct{}, permits), &promise12{kept: make(chan struct{})}}
}

// permits is how many messages may arrive before a waiter takes one.
const permits = 1 << 16

func (e *entry12) with(n int) *entry12 {
	copied := *e
	copied.waiters += n
	return &copied
}

// enter adds a waiter to an existing entry.
func (s *entries12) enter() *entry12 {
	for {
		got, ok := s.m.Load("")
		if !ok {
			return nil
		}
		e := got.(*entry12)
		if next := e.with(1); s.m.CompareAndSwap("", e, next) {
			return next
		}
	}
}

// subscribe joins the subscription. If the entry is not nil, the waiter must unsubscribe.
func (s *entries12) subscribe(ctx context.Context) (*entry12, error) {
	e := s.enter()
	for e == nil {
		first := newEntry12()
		if _, there := s.m.LoadOrStore("", first); there {
			e = s.enter()
			continue
		}
		e = first
		s.before("subscribe")
		s.mu.Lock()
		err := s.hub.subscribe(ctx, s.channel, first)
		s.mu.Unlock()
		if err != nil {
			first.promise.keep(err)
		}
	}
	return e, s.hub.await(ctx, e)
}

// unsubscribe removes a waiter, and ends the subscription with the last.
func (s *entries12) unsubscribe(ctx context.Context) {
	for {
		got, ok := s.m.Load("")
		if !ok {
			return
		}
		e := got.(*entry12)
		next := e.with(-1)
		if !s.m.CompareAndSwap("", e, next) {
			continue
		}
		if next.waiters > 0 {
			return
		}
		s.before("remove")
		if !s.m.CompareAndDelete("", next) {
			return // a waiter has come
		}
		s.before("unsubscribe")
		s.mu.Lock()
		defer s.mu.Unlock()
		if _, again := s.m.Load(""); !again { // or another waiter's SUBSCRIBE follows
			s.hub.unsubscribe(ctx, s.channel)
		}
		return
	}
}
