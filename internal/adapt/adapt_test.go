package adapt

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"testing"
	"time"

	"locklab/harness"
)

var library = Errors{
	NotHeld:     errors.New("library: not held"),
	NotAcquired: errors.New("library: not acquired"),
	Lost:        errors.New("library: lost"),
	Released:    errors.New("library: released"),
	Unavailable: errors.New("library: unavailable"),
}

var ours = []error{harness.ErrNotHeld, harness.ErrNotAcquired, harness.ErrLost, harness.ErrReleased,
	harness.ErrUsage, harness.ErrUnavailable}

func TestWrap(t *testing.T) {
	for _, test := range []struct {
		err  error
		want []error // from package harness; no other may match
	}{
		{library.NotHeld, []error{harness.ErrNotHeld}},
		{fmt.Errorf("lock /a: %w", library.NotAcquired), []error{harness.ErrNotAcquired}},
		{fmt.Errorf("%w: %w", library.NotHeld, library.Lost), []error{harness.ErrNotHeld, harness.ErrLost}},
		{library.Released, []error{harness.ErrReleased}},
		{library.Unavailable, []error{harness.ErrUnavailable}},
		{io.EOF, nil},
		{harness.ErrUsage, []error{harness.ErrUsage}},
	} {
		got := library.Wrap(test.err)
		if !errors.Is(got, test.err) || got.Error() != test.err.Error() {
			t.Errorf("%v became %v", test.err, got)
		}
		for _, e := range ours {
			if is := errors.Is(got, e); is != slices.Contains(test.want, e) {
				t.Errorf("errors.Is(%v, %v) = %v", got, e, is)
			}
		}
	}
	if err := library.Wrap(nil); err != nil {
		t.Errorf("nil became %v", err)
	}
	err := library.Wrap(library.NotHeld)
	if again := library.Wrap(err); fmt.Sprintf("%T %p", again, again) != fmt.Sprintf("%T %p", err, err) {
		t.Errorf("wrapped twice: %#v", again)
	}
}

type fake struct{ unlock, end error }

func (f *fake) Unlock(context.Context) error { return f.unlock }
func (f *fake) Token() uint64                { return 7 }
func (f *fake) Done() <-chan struct{}        { return nil }
func (f *fake) Err() error                   { return f.end }
func (f *fake) Deadline() (time.Time, bool)  { return time.Time{}, false }

type fakeLock struct {
	lease *fake
	err   error
}

func (l fakeLock) Lock(context.Context) (*fake, error)    { return l.lease, l.err }
func (l fakeLock) TryLock(context.Context) (*fake, error) { return l.lease, l.err }

func TestSession(t *testing.T) {
	f := &fake{}
	l, err := NewSession(library, Locker[*fake](fakeLock{lease: f})).Lock(t.Context())
	if err != nil || l.Token() != 7 || l.Err() != nil || l.Unlock(t.Context()) != nil {
		t.Fatalf("%v, %v", l, err)
	}
	f.unlock, f.end = library.NotHeld, library.Lost
	if err := l.Unlock(t.Context()); !errors.Is(err, harness.ErrNotHeld) || !errors.Is(err, library.NotHeld) {
		t.Errorf("Unlock = %v", err)
	}
	if err := l.Err(); !errors.Is(err, harness.ErrLost) || !errors.Is(err, library.Lost) {
		t.Errorf("Err = %v", err)
	}
	none := NewSession(library, Locker[*fake](fakeLock{err: library.NotAcquired}))
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
