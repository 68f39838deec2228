package peers_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"locklab/harness"
	"locklab/harness/oracle"
	"locklab/internal/require"
	"locklab/peers"
	redislab "locklab/redislock/lab"
	zklab "locklab/zklock/lab"
)

func variant(name string) *harness.Variant {
	all := slices.Concat(peers.Suite, zklab.Suite, redislab.Suite)
	if i := slices.IndexFunc(all, func(v *harness.Variant) bool { return v.Name == name }); i >= 0 {
		return all[i]
	}
	return nil
}

func newKey() string { return "peers-test-" + rand.Text() }

type gathering struct {
	clients  []harness.Remote
	sessions []harness.Session
	holds    [][]oracle.Hold                                  // by worker
	reads    func(worker, turn int) bool                      // nil if none reads
	inside   func(i int, read bool) (leave func(), err error) // called by holders; nil is fine
}

func startGathering(ctx context.Context, at harness.Endpoint, key string, vs []*harness.Variant) (*gathering, error) {
	g := &gathering{clients: make([]harness.Remote, len(vs)), sessions: make([]harness.Session, len(vs)), holds: make([][]oracle.Hold, len(vs))}
	var group errgroup.Group
	for i, v := range vs {
		group.Go(func() (err error) {
			if g.clients[i], err = v.Remote(ctx, at, key); err == nil {
				g.sessions[i], err = g.clients[i].Join(ctx, i)
			}
			return err
		})
	}
	return g, group.Wait()
}

func (g *gathering) close() error {
	var group errgroup.Group
	for i, s := range g.sessions {
		group.Go(func() error {
			var errs []error
			if s != nil {
				errs = append(errs, s.Close())
			}
			if g.clients[i] != nil {
				errs = append(errs, g.clients[i].Close())
			}
			return errors.Join(errs...)
		})
	}
	return group.Wait()
}

// turns lets every worker take the lock while more returns true, and records writers' turns.
func (g *gathering) turns(ctx context.Context, base time.Time, hold time.Duration, more func(turn int) bool) error {
	var group errgroup.Group
	for i := range g.sessions {
		group.Go(func() error {
			for n := 0; more(n); n++ {
				if err := g.turn(ctx, base, hold, i, n); err != nil {
					return fmt.Errorf("worker %d: %w", i, err)
				}
			}
			return nil
		})
	}
	return group.Wait()
}

func (g *gathering) turn(ctx context.Context, base time.Time, hold time.Duration, i, n int) error {
	read := g.reads != nil && g.reads(i, n)
	lock := g.sessions[i].Lock
	if read {
		lock = g.sessions[i].(harness.RWSession).RLock
	}
	h := oracle.Hold{Worker: i, Requested: int64(time.Since(base))}
	lease, err := lock(ctx)
	if err != nil {
		return err
	}
	h.Acquired = int64(time.Since(base))
	leave := func() {}
	if g.inside != nil {
		leave, err = g.inside(i, read)
	}
	if hold > 0 {
		time.Sleep(hold)
	}
	leave()
	h.Releasing = int64(time.Since(base))
	if !read {
		g.holds[i] = append(g.holds[i], h)
	}
	return errors.Join(err, lease.Unlock(ctx))
}

var requireNoError = require.NoError

func expectError(tb testing.TB, err, want error) {
	tb.Helper()
	if !errors.Is(err, want) {
		tb.Errorf("error %v, want %v", err, want)
	}
}
