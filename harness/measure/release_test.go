package measure

import (
	"context"
	"errors"
	"testing"
	"time"

	"locklab/harness"
)

type tardy struct {
	done       chan struct{}
	says, ends error
	after      time.Duration // until it ends; negative is never
}

func (l *tardy) Unlock(context.Context) error {
	if l.after >= 0 {
		time.AfterFunc(l.after, func() { close(l.done) })
	}
	return l.says
}

func (l *tardy) Err() error {
	select {
	case <-l.done:
		return l.ends
	default:
		return nil
	}
}

func (l *tardy) Token() uint64               { return 0 }
func (l *tardy) Done() <-chan struct{}       { return l.done }
func (l *tardy) Deadline() (time.Time, bool) { return time.Time{}, false }

// TestRelease: a late release is no error, but a lost lock or one without an end is.
func TestRelease(t *testing.T) {
	unanswered := errors.New("no answer yet")
	for _, test := range []struct {
		name     string
		lease    *tardy
		patience time.Duration
		want     error
	}{
		{"released at once", &tardy{after: 0, ends: harness.ErrReleased}, time.Minute, nil},
		{"released later", &tardy{says: unanswered, after: 30 * time.Millisecond, ends: harness.ErrReleased}, time.Minute, nil},
		{"lost later", &tardy{says: unanswered, after: 30 * time.Millisecond, ends: harness.ErrLost}, time.Minute, unanswered},
		{"never ends", &tardy{says: unanswered, after: -1}, 50 * time.Millisecond, unanswered},
		{"not held", &tardy{says: harness.ErrNotHeld, after: -1}, time.Hour, harness.ErrNotHeld},
	} {
		test.lease.done = make(chan struct{})
		if err := release(t.Context(), test.lease, test.patience); !errors.Is(err, test.want) || err != nil && test.want == nil {
			t.Errorf("%s: %v, want %v", test.name, err, test.want)
		}
	}
	if err := release(t.Context(), &endless{}, time.Hour); !errors.Is(err, errEndless) {
		t.Errorf("a lease that never says how it ends: %v", err)
	}
}

type endless struct{ shelfLease }

var errEndless = errors.New("no answer ever")

func (*endless) Unlock(context.Context) error { return errEndless }

// newFailing returns a session whose locks cannot be released.
func newFailing() harness.Session { return failing{new(shelf)} }

type failing struct{ *shelf }

func (f failing) Lock(context.Context) (harness.Lease, error) {
	return &tardy{done: make(chan struct{}), says: errEndless, after: -1}, nil
}
