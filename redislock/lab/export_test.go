package lab

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// The tests' access to the lock of Redisson 1.2.0.

func (r *lock12) Before(f func(step string)) { r.before = f }

func (r *lock12) Thread() *thread12 { return r.thread() }

func (r *lock12) Wakeups() (all, inVain uint64) { return r.wakeups.Load(), r.inVain.Load() }

func (r *lock12) Subscribes() uint64 { return r.entries.hub.subscribes.Load() }

func (r *lock12) Channel() string { return r.entries.channel }

func (r *lock12) ForceUnlock(ctx context.Context) error { return r.forceUnlock(ctx) }

func (t *thread12) Acquire(ctx context.Context, lease time.Duration) error { return t.lock(ctx, lease) }

func (t *thread12) Try(ctx context.Context, lease time.Duration) (bool, time.Duration, error) {
	return t.try(ctx, lease)
}

func (t *thread12) TryFor(ctx context.Context, wait, lease time.Duration) (bool, error) {
	return t.tryFor(ctx, wait, lease)
}

func (t *thread12) Release(ctx context.Context) (bool, error) { return t.unlock(ctx) }

type Entries interface {
	Subscribe(ctx context.Context) (permits func() int, err error)
	Unsubscribe(ctx context.Context)
	Before(f func(step string))
}

type copiedEntries struct{ *entries12 }

func (r *lock12) Entries() Entries { return copiedEntries{r.entries} }

func (s copiedEntries) Before(f func(string)) { s.before = f }

func (s copiedEntries) Subscribe(ctx context.Context) (func() int, error) {
	e, err := s.subscribe(ctx)
	return func() int { return len(e.latch) }, err
}

func (s copiedEntries) Unsubscribe(ctx context.Context) { s.unsubscribe(ctx) }

// countedEntries has an atomic count in an entry, as the article suggests, which is wrong.
type countedEntries struct {
	m       sync.Map // "" to *countedEntry
	mu      sync.Mutex
	hub     *hub
	channel string
	before  func(string)
}

type countedEntry struct {
	waiters atomic.Int64
	*entry12
}

func (r *lock12) CountedEntries() Entries {
	return &countedEntries{hub: r.entries.hub, channel: r.entries.channel, before: func(string) {}}
}

func (s *countedEntries) Before(f func(string)) { s.before = f }

func (s *countedEntries) Subscribe(ctx context.Context) (func() int, error) {
	mine := &countedEntry{entry12: newEntry12()}
	got, there := s.m.LoadOrStore("", mine)
	e := got.(*countedEntry)
	e.waiters.Add(1)
	if !there {
		s.mu.Lock()
		err := s.hub.subscribe(ctx, s.channel, e.entry12)
		s.mu.Unlock()
		if err != nil {
			return nil, err
		}
	}
	if err := s.hub.await(ctx, e.entry12); err != nil {
		return nil, err
	}
	return func() int { return len(e.latch) }, nil
}

func (s *countedEntries) Unsubscribe(ctx context.Context) {
	got, ok := s.m.Load("")
	if !ok {
		return
	}
	e := got.(*countedEntry)
	if e.waiters.Add(-1) > 0 {
		return
	}
	s.before("remove")
	if !s.m.CompareAndDelete("", e) {
		return
	}
	s.before("unsubscribe")
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, again := s.m.Load(""); !again {
		s.hub.unsubscribe(ctx, s.channel)
	}
}

func (f *fairLock) Thread() *fairThread { return f.thread() }

func (f *fairLock) Asks() uint64 { return f.asks.Load() }

func (t *fairThread) Field() string { return t.field }

func (t *fairThread) JoinAndDie(ctx context.Context) error {
	l, _, err := t.ask(ctx, true)
	if l != nil {
		panic("the lock is free")
	}
	return err
}
