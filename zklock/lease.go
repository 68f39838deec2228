package zklock

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-zookeeper/zk"
)

// A Lease is one acquisition of a lock. It is the owner of the lock: it may be
// passed on, and any goroutine may unlock it. Its methods may be used by any
// number of goroutines.
//
// It has no time to live of its own, but for [Options].MaxHold. It follows the
// session of its client: it holds as long as the servers confirm the session,
// see [ClientOptions].SessionTimeout and [Lease.Deadline], and all leases of a
// client end with it.
type Lease struct {
	c     *Client
	path  string // above its node
	name  string // path of the lock, if it is another; see [Lease.TokenOf]
	node  string // its name; "" if there is none to guard
	czxid uint64 // of the node, 0 if its name is enough
	token uint64
	parts []*Lease                // of a Multi
	check *zk.CheckVersionRequest // see IsOwner, nil if there is none

	// free gives the lock back and reports whether it was held until then.
	// It is called once, in a goroutine of the client.
	free  func() (held bool, err error)
	freed sync.Once

	life
	state atomic.Int32 // stateHeld, and then what gives it back
	slow  *time.Timer  // starts the guard of the node; nil if there is none

	maxHold time.Duration // Options.MaxHold, 0 if there is none
	until   time.Time     // when it is over

	trace *Trace    // of the Lock that has returned it, or nil
	since time.Time // when it has, if there is a trace
}

// A life ends once for the client, and for the owner already when Unlock begins.
type life struct {
	alive context.Context // ends with the lease; the cause is why
	end   context.CancelCauseFunc
	owned context.Context // ends with alive or when Unlock begins
	leave context.CancelCauseFunc
}

func newLife(parent context.Context) (f life) {
	f.alive, f.end = context.WithCancelCause(parent)
	f.owned, f.leave = context.WithCancelCause(f.alive)
	return f
}

// unlockWait bounds Unlock.
const unlockWait = 2 * time.Second

// Unlock releases the lock with one request, whatever has become of ctx, and
// waits at most two seconds for the answer; after that it continues in the
// background and the error wraps ErrUnanswered. The lease ends when Unlock begins,
// whatever it returns. The error wraps ErrNotHeld if the lock was lost, even if only
// possibly, or has been released. If the reply to the release is lost and the node is
// gone, the lock was possibly lost: somebody else may have deleted the node before.
//
// A lost lease is to be unlocked like any other: the session may have lived
// on, and keeps the others out until then. Its Unlock waits for nothing.
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
	if !l.c.spawn(func() { done <- l.release() }) {
		return fmt.Errorf("%w: %w", ErrNotHeld, ErrClosed)
	}
	if lost != nil {
		return lost
	}
	timer := time.NewTimer(unlockWait)
	defer timer.Stop()
	select {
	case err := <-done:
		return err
	case <-timer.C:
		if lost := l.lost(); lost != nil {
			return lost
		}
		return fmt.Errorf("%w: unlock %s, after %v", ErrUnanswered, l.path, unlockWait)
	}
}

// lost returns the error of Unlock if the lease has ended without it.
func (l *Lease) lost() error {
	if cause := l.Err(); cause != nil && !errors.Is(cause, ErrReleased) {
		return fmt.Errorf("%w: %w", ErrNotHeld, cause)
	}
	return nil
}

// release gives the lock back and ends the lease.
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
	switch {
	case err != nil:
		l.end(fmt.Errorf("%w: %w", ErrLost, err))
	case held:
		l.end(ErrReleased)
	default:
		l.end(fmt.Errorf("%w: its node was gone, perhaps before the release", ErrLost))
	}
	l.c.forget(l)
	if l.lost() == nil {
		l.released()
	}
}

// Token returns the fencing token: it rises strictly from holder to holder of
// the same path, also when the path was removed and made again in between. Of a
// [Mutex], a [Multi] or a [RWMutex] it is the zxid that made this holder's ticket, or of
// a writer that reads on, its writer's ticket.
// Others take the zxid of the last change to the queue that this holder saw when
// it found itself at the head. By then its predecessor's ticket had gone, which
// is such a change, and the predecessor had seen that ticket, its own, in place.
// See [RWMutex] and [Semaphore] on tokens of holders that share.
func (l *Lease) Token() uint64 { return l.token }

// TokenOf returns the fencing token of the lock at path: of one of those of a [Multi],
// or Token if the lease is of that one lock. It is 0 for a path that is not locked by
// this lease.
func (l *Lease) TokenOf(path string) uint64 {
	for _, part := range l.parts {
		if part.path == path {
			return part.token
		}
	}
	if path == l.lockPath() {
		return l.token
	}
	return 0
}

// Done is closed when Unlock begins, or when the lock may have been lost.
func (l *Lease) Done() <-chan struct{} { return l.owned.Done() }

// Err is nil while the lock is held, then why it ended: ErrReleased, or an
// error that wraps ErrLost. An Unlock that finds the lock lost turns the one into the other.
func (l *Lease) Err() error {
	if l.owned.Err() == nil {
		l.expire()
	}
	if cause := context.Cause(l.alive); cause != nil {
		return cause
	}
	return context.Cause(l.owned)
}

// expire ends l if its time is over. The timer that does so as well is late if the machine
// was suspended.
func (l *Lease) expire() {
	switch now := l.c.clock.Now(); {
	case l.maxHold > 0 && !now.Before(l.until):
		l.end(l.overdueErr())
	case !now.Before(l.c.deadline()):
		l.end(l.c.unconfirmed())
	}
}

// drop gives back in the background a lease that has no owner.
func (l *Lease) drop() {
	l.state.Store(stateUnlocked)
	l.c.spawn(func() { l.release() })
}

// Deadline returns until when the session certainly lives, less the margin, by
// what is known now: it moves on as long as a majority of the servers commits what
// the client writes. It is between 0.3 and 0.6 of the session timeout ahead, with the
// default margin, as long as they do, and never later than [Options].MaxHold allows.
// Once the lease has ended it is the zero time.
// It counts the time that the machine is suspended until the call, as Err does; time.Until
// of it does not count a later suspend. A holder that looks at it right before it acts closes
// the gap between a pause, or a suspend, and the closing of Done, which a timer of Go does.
func (l *Lease) Deadline() (time.Time, bool) {
	if l.Err() != nil {
		return time.Time{}, true
	}
	return l.c.clock.Local(l.bounded(l.c.deadline())), true
}
