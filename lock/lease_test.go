package lock

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// A fake lease ends when it is told to.
type fake struct {
	alive  context.Context
	end    context.CancelCauseFunc
	unlock error

	unlocks func() // called by Unlock
}

func newFake() *fake {
	f := &fake{unlocks: func() {}}
	f.alive, f.end = context.WithCancelCause(context.Background())
	return f
}

func (f *fake) Unlock(context.Context) error { f.unlocks(); f.end(errReleased); return f.unlock }
func (f *fake) Done() <-chan struct{}        { return f.alive.Done() }
func (f *fake) Err() error                   { return context.Cause(f.alive) }

func (f *fake) lock(context.Context) (*fake, error) { return f, nil }

var (
	errTest     = errors.New("test")
	errNotHeld  = errors.New("not held")
	errLost     = errors.New("lost")
	errReleased = errors.New("released")
)

func TestDo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		if err := Do(t.Context(), f.lock, func(ctx context.Context, l *fake) error { return ctx.Err() }); err != nil {
			t.Error(err)
		}
		if f.Err() != errReleased {
			t.Errorf("the lease ended with %v", f.Err())
		}

		f = newFake()
		f.unlock = errNotHeld
		err := Do(t.Context(), f.lock, func(ctx context.Context, l *fake) error {
			f.end(errLost)
			<-ctx.Done()
			return context.Cause(ctx)
		})
		if !errors.Is(err, errLost) || !errors.Is(err, errNotHeld) {
			t.Errorf("lost inside: %v", err)
		}

		err = Do(t.Context(), func(context.Context) (*fake, error) { return nil, errTest },
			func(context.Context, *fake) error { t.Error("f was called without the lock"); return nil })
		if err != errTest {
			t.Error(err)
		}

		f = newFake()
		func() {
			defer func() { recover() }()
			Do(t.Context(), f.lock, func(context.Context, *fake) error { panic("no") })
		}()
		if f.Err() != errReleased {
			t.Errorf("after a panic the lease ended with %v", f.Err())
		}
	})
}

// TestElect counts the terms of a leader that loses the lock twice.
func TestElect(t *testing.T) {
	for _, test := range []struct {
		name string
		last error // result of lead at the end of its third term
		end  error // how the lease has ended by then; nil if it is held
		stop bool  // ctx ends in the third term
		want []error
	}{
		{name: "done"},
		{name: "failed", last: errTest, want: []error{errTest}},
		{name: "resigned", end: errReleased, want: []error{errNotHeld}},
		{name: "stopped", stop: true, want: []error{context.Canceled}},
		{name: "stopped, and failed", last: errTest, stop: true, want: []error{context.Canceled, errTest}},
		{name: "stopped, and lost", last: errTest, end: errLost, stop: true, want: []error{context.Canceled, errTest, errNotHeld}},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				var f *fake
				terms := 0
				lock := func(ctx context.Context) (*fake, error) { f = newFake(); return f, ctx.Err() }
				err := Elect(ctx, lock, errLost, func(inside context.Context, l *fake) error {
					if terms++; terms < 3 {
						f.unlock = errNotHeld
						f.end(fmt.Errorf("the session: %w", errLost))
						<-inside.Done()
						return nil // the clean end of a leader that stopped in time
					}
					if test.end != nil {
						f.end(test.end)
						f.unlock = errNotHeld
					}
					if test.stop {
						cancel()
						<-inside.Done()
					}
					return test.last
				})
				for _, want := range test.want {
					if !errors.Is(err, want) {
						t.Errorf("Elect = %v, want %v", err, want)
					}
				}
				if len(test.want) == 0 && err != nil || terms != 3 || f.Err() != cmp.Or(test.end, errReleased) {
					t.Errorf("Elect = %v after %d terms, and the lease ended with %v", err, terms, f.Err())
				}
			})
		})
	}
	var none context.Context
	if err := Elect(none, func(context.Context) (*fake, error) { return nil, errTest }, errLost, nil); err != errTest {
		t.Errorf("no lock: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	full := func(ctx context.Context) (*fake, error) { return nil, ctx.Err() }
	if err := Elect(ctx, full, errLost, nil); err != context.Canceled {
		t.Errorf("stopped before: %v", err)
	}
}

func TestLocker(t *testing.T) {
	mustPanic := func(want error, f func()) {
		t.Helper()
		defer func() {
			if got := recover(); got != want {
				t.Errorf("panic %v, want %v", got, want)
			}
		}()
		f()
	}
	f := newFake()
	k := Locker(f.lock, errNotHeld)
	k.Lock()
	if f.Err() != nil {
		t.Errorf("locked, the lease says %v", f.Err())
	}
	k.Unlock()
	mustPanic(errNotHeld, k.Unlock)
	f.unlock = errTest
	k.Lock()
	mustPanic(errTest, k.Unlock)
	k.Lock() // the panic left it usable
	f.unlocks = func() {
		if mu := &k.(*locker[*fake]).mu; mu.TryLock() {
			mu.Unlock()
			t.Error("another could lock it before its lease is unlocked, and replace that")
		}
	}
	mustPanic(errTest, k.Unlock)
	fails := Locker(func(context.Context) (*fake, error) { return nil, errTest }, errNotHeld)
	mustPanic(errTest, fails.Lock)
	mustPanic(errTest, fails.Lock)
}

func TestAwait(t *testing.T) {
	spawn := func(f func()) bool { go f(); return true }
	for _, c := range []struct {
		name          string
		takes, cancel time.Duration // 0 is at once; -1 is never
		fail          error
		want          error
		after         time.Duration
		dropped       bool
	}{
		{"at once", 0, -1, nil, nil, 0, false},
		{"fails", 0, -1, errTest, errTest, 0, false},
		{"slow", time.Hour, -1, nil, nil, time.Hour, false},
		{"cancelled before", 0, 0, nil, context.Canceled, 0, false},
		{"withdrawn in time", time.Second + grace/2, time.Second, errTest, errTest, time.Second + grace/2, false},
		{"granted in time", time.Second + grace/2, time.Second, nil, nil, time.Second + grace/2, false},
		{"granted too late", time.Minute, time.Second, nil, context.Canceled, time.Second + grace, true},
		{"failed too late", time.Minute, time.Second, errTest, context.Canceled, time.Second + grace, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				switch {
				case c.cancel == 0:
					cancel()
				case c.cancel > 0:
					time.AfterFunc(c.cancel, cancel)
				}
				var mu sync.Mutex
				dropped := false
				begin := time.Now()
				_, err := Await(ctx, spawn, errTest, func() (int, error) {
					time.Sleep(c.takes)
					return 7, c.fail
				}, func(int) { mu.Lock(); dropped = true; mu.Unlock() })
				if !errors.Is(err, c.want) || time.Since(begin) != c.after {
					t.Errorf("%v after %v, want %v after %v", err, time.Since(begin), c.want, c.after)
				}
				time.Sleep(2 * time.Hour)
				mu.Lock()
				defer mu.Unlock()
				if dropped != c.dropped {
					t.Errorf("dropped is %v", dropped)
				}
			})
		})
	}
	if _, err := Await(t.Context(), func(func()) bool { return false }, errTest,
		func() (int, error) { return 0, nil }, func(int) {}); err != errTest {
		t.Errorf("closed: %v", err)
	}
}
