package zklock

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-zookeeper/zk"

	"locklab/lock"
)

// A Lease is one acquisition of a lock and owns the lock: it may be passed on, and any
// goroutine may unlock it. Its methods are safe for concurrent use.
//
// It lasts while the servers confirm the session of its client, see
// [ClientOptions].SessionTimeout and [Lease.Deadline], and up to [Options].MaxHold.
type Lease struct {
	q     *queue // with its node
	node  string // name of the node; "" without a guard
	czxid uint64 // of the node, 0 if its name is unique
	token uint64
	parts []*Lease                // of a Multi
	check *zk.CheckVersionRequest // see IsOwner; nil without a guard

	// free gives the lock back and reports whether it was held until then. It is called once, in
	// a goroutine of the client.
	free  func() (held bool, err error)
	freed sync.Once

	life
	state atomic.Int32 // stateHeld, and then the cause of its release
	slow  *time.Timer  // starts the guard of the node; nil without a guard

	limit lock.Limit // of Options.MaxHold, set before Lock returns the lease

	trace *Trace    // of the Lock that has returned it, or nil
	since time.Time // when that Lock returned, if there is a trace
}

// A life ends once for the client, and for the owner already when Unlock begins.
type life struct {
	alive context.Context // ends with the lease; the cause is the reason
	end   context.CancelCauseFunc
	owned context.Context // ends with alive or when Unlock begins
	leave context.CancelCauseFunc
}

func newLife(parent context.Context) (f life) {
	f.alive, f.end = context.WithCancelCause(parent)
	f.owned, f.leave = context.WithCancelCause(f.alive)
	return f
}

const unlockWait = 2 * time.Second

// Unlock releases the lock with one request, whether or not ctx has ended, and waits at most
// two seconds for the answer. After that it continues in the background and the error wraps
// ErrUnanswered. The lease ends when Unlock begins, whatever it returns. The error wraps
// ErrNotHeld if the lock was lost, even if only possibly, or was released before. A lost reply
// to the release and a missing node are a possible loss.
//
// Unlock a lost lease too: until then its session may exclude the others. It does not wait.
func (l *Lease) Unlock(context.Context) error {
	switch l.state.Swap(stateUnlocked) {
	case stateUnlocked:
		return fmt.Errorf("%w: unlocked before", ErrNotHeld)
	case stateOverdue:
		<-l.alive.Done()
		return l.lost()
	}
	lost := l.lost()
	l.leave(ErrReleased)
	done := make(chan error, 1)
	if !l.q.c.spawn(func() { done <- l.release() }) {
		return fmt.Errorf("%w: %w", ErrNotHeld, ErrClosed)
	}
	if lost != nil {
		return lost
	}
	select {
	case err := <-done:
		return err
	case <-time.After(unlockWait):
		if lost := l.lost(); lost != nil {
			return lost
		}
		return fmt.Errorf("%w: unlock %s, after %v", ErrUnanswered, l.q.name, unlockWait)
	}
}

func (l *Lease) lost() error {
	if cause := l.Err(); cause != nil && !errors.Is(cause, ErrReleased) {
		return fmt.Errorf("%w: %w", ErrNotHeld, cause)
	}
	return nil
}

func (l *Lease) release() error {
	l.freed.Do(l.giveBack)
	return l.lost()
}

func (l *Lease) giveBack() {
	l.state.CompareAndSwap(stateHeld, stateUnlocked) // so that the guard does not take the end of the node for a loss
	if l.slow != nil {
		l.slow.Stop()
	}
	held, err := l.free()
	cause := ErrReleased
	switch {
	case err != nil:
		cause = fmt.Errorf("%w: %w", ErrLost, err)
	case !held:
		cause = fmt.Errorf("%w: its node was gone, perhaps before the release", ErrLost)
	}
	l.q.c.lose(l, cause)
	if l.lost() == nil {
		l.released()
	}
}

// Token returns the fencing token. It rises strictly from holder to holder of the same path,
// even if the path was recreated in between. For a [Mutex], a [Multi] or a [RWMutex] it is the
// czxid of this holder's ticket; for a writer that reads on, of its write ticket. For other
// locks it is the zxid of the last change to the queue that this holder saw when it found
// itself at the head, at least its predecessor's departure. See [RWMutex] and [Semaphore] for
// tokens of concurrent holders.
func (l *Lease) Token() uint64 { return l.token }

// TokenOf returns the fencing token of the lock at path, of a [Multi] or the lease, else 0.
func (l *Lease) TokenOf(path string) uint64 {
	for _, part := range l.parts {
		if part.q.path == path {
			return part.token
		}
	}
	if path == l.q.name {
		return l.token
	}
	return 0
}

// Done returns a channel that is closed when Unlock begins, or when the lock may have been lost.
func (l *Lease) Done() <-chan struct{} { return l.owned.Done() }

// Err returns nil while the lock is held, then the reason of its end: ErrReleased, or an error
// that wraps ErrLost. If Unlock finds the lock lost, ErrReleased becomes ErrLost.
func (l *Lease) Err() error {
	if l.owned.Err() == nil {
		l.expire()
	}
	if cause := context.Cause(l.alive); cause != nil {
		return cause
	}
	return context.Cause(l.owned)
}

// expire ends l if its time is over, because after a suspend the timer is late, or a part has ended.
func (l *Lease) expire() {
	for _, part := range l.parts {
		if err := part.Err(); err != nil {
			l.end(err)
		}
	}
	switch now := l.q.c.clock.Now(); {
	case l.limit.Over(now):
		l.end(l.limit.Err(ErrLost))
	case !now.Before(l.q.c.deadline()):
		l.end(l.q.c.unconfirmed())
	}
}

// Deadline returns until when the session is certainly alive, less the margin, as known now,
// at most as [Options].MaxHold allows, and zero once the lease has ended. Commits of the
// client's writes move it 0.3 to 0.6 of the session timeout ahead, with the default margin.
// Like Err it includes suspends before the call. A later suspend delays Done and time.Until:
// call it right before acting.
func (l *Lease) Deadline() (time.Time, bool) {
	if l.Err() != nil {
		return time.Time{}, true
	}
	return l.q.c.clock.Local(l.limit.Bound(l.q.c.deadline())), true
}

// ErrNoCheck is ErrUsage, returned by IsOwner for a lease that no operation can check: of a lock
// without Options.Checkable, or of a Cohort that hands its ticket on.
var ErrNoCheck = fmt.Errorf("%w: the lease cannot be checked by an operation", ErrUsage)

// IsOwner returns operations for a transaction (zk.Conn.Multi) on the same servers, on any
// connection. The transaction succeeds only if this lease, or another one of the same [Owner],
// holds the lock at that time. So data in ZooKeeper needs no fencing token:
//
//	ops, err := lease.IsOwner()
//	…
//	_, err = conn.Multi(append(ops, &zk.SetDataRequest{Path: "/state", Data: data, Version: -1})...)
//
// If the lock is not held, Multi returns zk.ErrNoNode or zk.ErrBadVersion. There is one
// operation, or one for each path of a [Multi]. They need the right to read the tickets.
//
// Each operation checks the lease's ticket, which exists while the lock is held, has a unique
// name, and is deleted in the transaction that releases the lock. The tickets of a [Mutex] and
// of a writer must also have version 0, because a write to them is a release. Others may be
// written to while the lock is held.
//
// A [Mutex], a [Multi] and a [RWMutex] need [Options].Checkable. Without it the names of their
// tickets are numbers, which restart when the node of the lock is recreated and then may name
// other tickets. The error wraps ErrNoCheck.
func (l *Lease) IsOwner() ([]any, error) {
	if l.check != nil {
		check := *l.check
		return []any{&check}, nil
	}
	var ops []any
	for _, part := range l.parts {
		op, err := part.IsOwner()
		if err != nil {
			return nil, err
		}
		ops = append(ops, op...)
	}
	if ops == nil {
		return nil, fmt.Errorf("%w: lock %s", ErrNoCheck, l.q.name)
	}
	return ops, nil
}

func (t *ticket) check() *zk.CheckVersionRequest {
	switch {
	case t.p.remove != nil && !t.unnamed: // it may be plain
		return nil
	case t.sealed:
		return &zk.CheckVersionRequest{Path: t.path(), Version: 0}
	default:
		return &zk.CheckVersionRequest{Path: t.path(), Version: -1}
	}
}

// The states of a lease: how it was given back.
const (
	stateHeld     = iota
	stateUnlocked // by Unlock, or dropped because nobody waits for it
	stateOverdue  // by Options.MaxHold or Shutdown
)

func (l *Lease) overdue() {
	if l.revoke(l.limit.Err(ErrLost)) {
		l.q.c.spawn(func() { l.release() })
	}
}

func (l *Lease) revoke(cause error) bool {
	held := l.state.CompareAndSwap(stateHeld, stateOverdue)
	if held {
		l.end(cause) // it stays in Client.leases until it is given back, for Shutdown
	}
	return held
}
