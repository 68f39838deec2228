//go:build unix

package ranks

import (
	"context"
	"errors"
	"strings"
	"syscall"
	"testing"
	"time"

	"locklab/harness"
	"locklab/internal/backend"
	"locklab/internal/faultproxy"
	"locklab/internal/leaktest"
)

func TestCutOff(t *testing.T) {
	for _, kind := range kinds {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			server := commonServer(t, kind)
			leaktest.Own(t)
			proxy, err := faultproxy.New(server.Endpoint().Addrs[0][0], faultproxy.Unread, faultproxy.Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer proxy.Close()
			at := server.Endpoint()
			direct := syncOf(at)
			at.Addrs = [][]string{{proxy.Addr()}}
			all := groups(t, join(t, direct, 2, func(o *Options, m *Member) {
				if o.expiry = 0; o.Rank == 1 {
					o.Sync = syncOf(at)
				}
			}))
			since := time.Now()
			proxy.Partition(true)
			causes := ended(t, map[int]*Group{0: all[0], 1: all[1]}, since)
			lost(t, causes[0], []int{1}, "rank 1 (host host1, pid ", "is gone")
			lost(t, causes[1], nil, proxy.Addr(), "has not answered for")
			if err := all[1].Leave(t.Context(), ""); err != nil {
				t.Errorf("Leave after the loss: %v", err)
			}
		})
	}
}

func TestServer(t *testing.T) {
	hurt := map[string]func(*testing.T, *backend.Server){
		"killed": func(t *testing.T, s *backend.Server) { check(t, s.Kill(0)) },
		"hangs":  func(t *testing.T, s *backend.Server) { check(t, s.Signal(0, syscall.SIGSTOP)) },
		"restarted": func(t *testing.T, s *backend.Server) {
			check(t, s.Restart(t.Context(), 0))
		},
	}
	for _, kind := range kinds {
		for name, do := range hurt {
			if kind == harness.KindZooKeeper && name == "restarted" {
				continue // it keeps its sessions: TestZooKeeperRestarted
			}
			t.Run(kind+" "+name, func(t *testing.T) {
				t.Parallel()
				leaktest.Own(t)
				server := alone(t, kind)
				all := groups(t, join(t, syncOf(server.Endpoint()), 2, func(o *Options, _ *Member) { o.expiry = 0 }))
				since := time.Now()
				do(t, server)
				for _, err := range ended(t, map[int]*Group{0: all[0], 1: all[1]}, since) {
					lost(t, err, nil, all[0].at.String())
				}
				if _, err := all[0].Share(t.Context(), "plan", nil); err == nil {
					t.Error("a barrier passes without a server")
				}
			})
		}
	}
}

// TestZooKeeperRestarted checks that a ZooKeeper server that returns soon has kept the
// sessions, and that the run continues.
func TestZooKeeperRestarted(t *testing.T) {
	t.Parallel()
	leaktest.Own(t)
	server := alone(t, harness.KindZooKeeper)
	all := groups(t, join(t, syncOf(server.Endpoint()), 2, nil))
	ctx := t.Context()
	check(t, server.Restart(ctx, 0))
	together(2, func(r int) {
		_, err := all[r].Gather(ctx, "after", nil)
		var l *LostError
		if errors.As(err, &l) && l.Server != "" && strings.Contains(l.Why, "has not answered") {
			t.Logf("the server was away for too long: %v", err)
		} else if err != nil {
			t.Errorf("rank %d: %v", r, err)
		}
	})
}

func alone(t *testing.T, kind string) *backend.Server {
	t.Helper()
	server := start(t, kind, func(ctx context.Context, kind string) (*backend.Server, error) {
		if kind == harness.KindRedis {
			return backend.StartAlone(ctx)
		}
		return backend.StartEnsembleOf(ctx, backend.EnsembleOptions{Servers: 1})
	})
	t.Cleanup(func() { check(t, server.Stop()) })
	return server
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Error(err)
	}
}
