package lock_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"locklab/lock"
)

func TestLimit(t *testing.T) {
	for _, c := range []struct {
		name          string
		unlock, sleep time.Duration // when the lease ends, and how long the machine sleeps before
		want          int32
	}{
		{"held", time.Hour, 0, 1},
		{"unlocked", time.Second, 0, 0},
		{"unlocked after a suspend beyond the limit", time.Second, time.Hour, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var slept atomic.Int64
				now := func() time.Time { return time.Now().Add(time.Duration(slept.Load())) }
				began := now()
				alive, end := context.WithTimeout(t.Context(), c.unlock)
				defer end()
				var m lock.Limit
				var calls atomic.Int32
				m.Begin(alive, time.Minute, now, func() { calls.Add(1) })
				slept.Store(int64(c.sleep))
				<-alive.Done()
				synctest.Wait()
				if got := calls.Load(); got != c.want {
					t.Errorf("the lease was ended %d times, want %d", got, c.want)
				}
				early, over, late := began.Add(time.Minute-1), began.Add(time.Minute), began.Add(time.Hour)
				if m.Over(early) || !m.Over(over) || m.Bound(early) != early || m.Bound(late) != over {
					t.Errorf("a limit of a minute is %+v", m)
				}
				if err := m.Err(lock.ErrLost); !errors.Is(err, lock.ErrLost) {
					t.Errorf("error %v", err)
				}
			})
		})
	}
	if m := (lock.Limit{}); m.Over(time.Now()) {
		t.Error("no limit is over")
	}
}
