package adapt

import (
	"context"
	"errors"
	"io"
	"testing"
	"time"

	"locklab/harness"
)

type fake struct{ harness.Lease }

type fakeLock struct {
	lease *fake
	err   error
}

func (l fakeLock) Lock(context.Context) (*fake, error)    { return l.lease, l.err }
func (l fakeLock) TryLock(context.Context) (*fake, error) { return l.lease, l.err }

func TestSession(t *testing.T) {
	f := &fake{}
	l, err := NewSession(Locker[*fake](fakeLock{lease: f})).Lock(t.Context())
	if l != f || err != nil {
		t.Errorf("%v, %v", l, err)
	}
	none := NewSession(Locker[*fake](fakeLock{err: harness.ErrNotAcquired}))
	if l, err := none.Lock(t.Context()); l != nil || !errors.Is(err, harness.ErrNotAcquired) {
		t.Errorf("%v, %v: want no lease at all, and ErrNotAcquired", l, err)
	}
}

// TestLease checks how a lease ends, and the result of its Unlock.
func TestLease(t *testing.T) {
	failed := errors.New("no answer")
	for name, test := range map[string]struct {
		until  time.Duration // from now; 0 for none
		held   bool
		err    error
		cause  error // of the end
		unlock error
	}{
		"held":            {time.Minute, true, nil, harness.ErrReleased, nil},
		"without end":     {0, true, nil, harness.ErrReleased, nil},
		"gone":            {time.Minute, false, nil, harness.ErrLost, harness.ErrNotHeld},
		"no answer":       {time.Minute, false, failed, harness.ErrLost, failed},
		"over":            {-time.Minute, true, nil, harness.ErrLost, harness.ErrNotHeld},
		"over, no answer": {-time.Minute, false, failed, harness.ErrLost, harness.ErrNotHeld},
		"parent ended":    {0, true, nil, io.EOF, harness.ErrNotHeld},
	} {
		t.Run(name, func(t *testing.T) {
			parent, end := context.WithCancelCause(t.Context())
			defer end(nil)
			until := time.Time{}
			if test.until != 0 {
				until = time.Now().Add(test.until)
			}
			l := NewLease(parent, until, func(context.Context) (bool, error) { return test.held, test.err })
			if errors.Is(test.cause, io.EOF) {
				end(io.EOF)
			}
			if test.until < 0 {
				<-l.Done()
			}
			if err := l.Unlock(t.Context()); !errors.Is(err, test.unlock) {
				t.Errorf("Unlock = %v, want %v", err, test.unlock)
			}
			if err := l.Err(); !errors.Is(err, test.cause) {
				t.Errorf("Err = %v, want %v", err, test.cause)
			}
			if err := l.Unlock(t.Context()); !errors.Is(err, harness.ErrNotHeld) {
				t.Errorf("the second Unlock = %v", err)
			}
		})
	}
}

func TestExtend(t *testing.T) {
	l := NewLease(t.Context(), time.Now().Add(20*time.Millisecond), func(context.Context) (bool, error) { return true, nil })
	l.Extend(time.Now().Add(time.Minute))
	time.Sleep(60 * time.Millisecond)
	if err := l.Unlock(t.Context()); err != nil {
		t.Errorf("Unlock of an extended lease = %v", err)
	}
}
