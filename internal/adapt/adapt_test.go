package adapt

import (
	"context"
	"errors"
	"fmt"
	"io"
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
			is, want := errors.Is(got, e), false
			for _, w := range test.want {
				want = want || w == e
			}
			if is != want {
				t.Errorf("errors.Is(%v, %v) = %v", got, e, is)
			}
		}
	}
	if err := library.Wrap(nil); err != nil {
		t.Errorf("nil became %v", err)
	}
}

func TestWrapOnce(t *testing.T) {
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

func TestLock(t *testing.T) {
	f := &fake{}
	lock := Lock(library, func(context.Context) (*fake, error) { return f, nil })
	l, err := lock(t.Context())
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
	none := Lock(library, func(context.Context) (*fake, error) { return nil, library.NotAcquired })
	if l, err := none(t.Context()); l != nil || !errors.Is(err, harness.ErrNotAcquired) {
		t.Errorf("%v, %v: want no lease at all, and ErrNotAcquired", l, err)
	}
}
