package peers

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync/atomic"
	"time"

	"locklab/harness"
)

type curatorLease struct {
	s        *curatorSession
	line     *line  // that granted it
	verb     string // releases it
	epoch    int    // number of the session
	alive    context.Context
	end      context.CancelCauseFunc
	unlocked atomic.Bool
}

var _ harness.Lease = (*curatorLease)(nil)

func newCuratorLease(s *curatorSession, verb, epoch string) (harness.Lease, error) {
	n, err := strconv.Atoi(epoch)
	if err != nil {
		return nil, fmt.Errorf("peers: %w", err)
	}
	l := &curatorLease{s: s, line: s.line, verb: verb, epoch: n}
	l.alive, l.end = context.WithCancelCause(context.Background())
	s.c.hold(l)
	return l, nil
}

func (l *curatorLease) Unlock(context.Context) error {
	if l.unlocked.Swap(true) {
		return fmt.Errorf("%w: unlocked before", errNotHeld)
	}
	lost := l.Err()
	l.s.c.forget(l)
	err := l.release()
	switch {
	case lost != nil:
		return fmt.Errorf("%w: %w", errNotHeld, lost)
	case err != nil:
		l.end(fmt.Errorf("%w: %w", errLost, err))
		return fmt.Errorf("peers: unlock: %w", err)
	}
	l.end(errReleased)
	return nil
}

// release asks the thread to unlock, even a lost lock, because Curator counts.
func (l *curatorLease) release() error {
	if l.s.line == nil || l.s.line != l.line {
		return fmt.Errorf("%w: the connection to its thread was given up", errLost)
	}
	l.line.conn.SetReadDeadline(time.Now().Add(curatorUnlockWait))
	answer, err := l.line.ask(l.verb)
	switch {
	case errors.As(err, new(*refusal)):
	case err != nil:
		l.s.giveUp()
		return err
	case answer != "ok":
		err = fmt.Errorf("unexpected answer %q", answer)
	}
	l.line.conn.SetReadDeadline(time.Time{})
	return err
}

func (l *curatorLease) Token() uint64               { return 0 }
func (l *curatorLease) Done() <-chan struct{}       { return l.alive.Done() }
func (l *curatorLease) Err() error                  { return context.Cause(l.alive) }
func (l *curatorLease) Deadline() (time.Time, bool) { return time.Time{}, false }
