package redislock_test

import (
	"fmt"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"locklab/harness"
	"locklab/redislock"
)

// TestMargin: a cut-off holder's deadline is before the next grant, by the margin and drift.
func TestMargin(t *testing.T) {
	at := runParallel(t)
	var all errgroup.Group
	all.SetLimit(8) // they wait most of the time
	for i, k := range lockKinds {
		for j, o := range []redislock.Options{
			{TTL: 300 * time.Millisecond},
			{TTL: 1500 * time.Millisecond},
			{TTL: 4 * time.Second},
			{TTL: time.Second, Margin: 200 * time.Millisecond},
		} {
			all.Go(func() error {
				t.Run(fmt.Sprintf("%s/%v,%v", k.name, o.TTL, o.Margin), func(t *testing.T) {
					if testing.Short() && (i+j)%4 != 0 {
						t.Skip("make test-all runs it")
					}
					margin(t, at, k, o)
				})
				return nil
			})
		}
	}
	_ = all.Wait() // no error: the tests report it
}

func margin(t *testing.T, at harness.Endpoint, k lockKind, o redislock.Options) {
	want := o.Margin
	if want == 0 {
		want = min(redislock.DefaultMargin, o.TTL/10)
	}
	key := newKey()
	holder := newPeer(t, at)
	l := lock(t, k.make(holder.Client, key, o))
	got := begun(t, k.make(newPeer(t, at).Client, key, o))
	time.Sleep(o.TTL / 2) // it may have been renewed
	holder.die()
	<-l.Done()
	told := time.Now()
	until, _ := l.Deadline()
	next := take(t, got)
	came := time.Now()
	unlock(t, next)
	t.Logf("the next one came %v after the deadline, %v after Done", came.Sub(until).Round(time.Millisecond), came.Sub(told).Round(time.Millisecond))
	if gap := came.Sub(until); gap < want {
		t.Errorf("the next one came %v after the deadline, want at least the margin of %v", gap, want)
	}
}
