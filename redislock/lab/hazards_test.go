package lab

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"

	"github.com/redis/go-redis/v9"

	"locklab/harness"
	"locklab/harness/locktest"
	"locklab/internal/leaktest"
)

type before struct {
	redis.Hook
	do   func()
	once sync.Once
}

func (b *before) DialHook(next redis.DialHook) redis.DialHook { return next }

func (b *before) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (b *before) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if cmd.Name() == "del" {
			b.once.Do(b.do)
		}
		return next(ctx, cmd)
	}
}

// TestCareless: redis-unsafe deletes the lock of the next holder, and reports no error.
func TestCareless(t *testing.T) {
	at := locktest.Endpoint(t, harness.KindRedis)
	leaktest.Own(t)
	s := newScene(t, at)
	link := newLink(t, at)
	m, other := newCareless(newPlain(t, link), s.key, 0), newCareless(newPlain(t, newLink(t, at)), s.key, 0)
	unlock(t, acquire(t, m)) // the server has the scripts from now on
	l := acquire(t, m)
	var next harness.Lease
	link.AddHook(&before{do: func() {
		s.expire()
		var err error
		next, err = other.TryLock(t.Context())
		requireNoError(t, err)
	}})
	err := l.Unlock(t.Context())
	if next == nil {
		t.Fatal("the test shows nothing: no client took the lock in between")
	}
	if err != nil || s.exists() {
		t.Errorf("Unlock = %v and the next holder still has the lock: %t; want nil and false, which is the published bug", err, s.exists())
	}
	_ = next.Unlock(t.Context())
}

// TestRenewalRound: slots after one without an answer are not renewed.
func TestRenewalRound(t *testing.T) {
	var all []*renewed
	for _, slot := range []int{9000, 17, 3, 16, 8001} { // 8, 1, 3, 0 and 1 in the table
		all = append(all, &renewed{slot: slot})
	}
	var asked []int
	round(all, func(r *renewed) error {
		if asked = append(asked, r.slot); r.slot == 8001 {
			return errors.New("no answer")
		}
		return nil
	})
	if !slices.Equal(asked, []int{16, 17, 8001}) {
		t.Errorf("asked slots %v", asked)
	}
}
