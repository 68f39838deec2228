package measure

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"locklab/harness"
	"locklab/harness/locktest"
	"locklab/internal/backend"
	"locklab/internal/leaktest"
	"locklab/internal/require"
)

// patience limits events that must happen, also under a load of dozens.
const patience = 2 * time.Minute

func runTests(m *testing.M) {
	code := leaktest.Process{Tests: m, Packages: []string{"locklab/harness/measure.(*Ranks)", "github.com/redis/go-redis/v9"}}.Run()
	if common.server != nil {
		if err := common.server.Stop(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = max(code, 1)
		}
	}
	os.Exit(code)
}

var common struct {
	mu     sync.Mutex
	server *backend.Server
}

func parallelSync(t *testing.T) (sync string) {
	t.Helper()
	t.Parallel()
	return syncOf(commonServer(t).Endpoint())
}

func commonServer(t *testing.T) *backend.Server {
	t.Helper()
	common.mu.Lock()
	defer common.mu.Unlock()
	if common.server == nil {
		common.server = startBackend(t, harness.KindRedis, backend.Setup{})
	}
	return common.server
}

// startBackend starts a server that the caller stops.
func startBackend(t *testing.T, kind string, setup backend.Setup) *backend.Server {
	t.Helper()
	setup.Own = true
	server, err := backend.StartSetup(context.Background(), kind, setup)
	locktest.RequireServers(t, kind, err)
	return server
}

func startServer(t *testing.T, kind string, setup backend.Setup) *backend.Server {
	t.Helper()
	server := startBackend(t, kind, setup)
	t.Cleanup(func() { requireNoError(t, server.Stop()) })
	return server
}

var requireNoError = require.NoError

func syncOf(at harness.Endpoint) string {
	auth := ""
	if at.Username != "" || at.Password != "" {
		auth = at.Username + ":" + at.Password + "@"
	}
	return "redis://" + auth + at.Addrs[0][0]
}

func jobOf(t *testing.T) string {
	return strings.NewReplacer("/", "-", "#", "-").Replace(t.Name()) + fmt.Sprint("-", os.Getpid())
}

type joined struct {
	*Ranks
	err error
}

func joinRanks(t *testing.T, sync string, n int, change func(*RankOptions, *Rank)) []joined {
	t.Helper()
	out := make([]joined, n)
	runTogether(n, func(r int) {
		o := RankOptions{Rank: r, Ranks: n, Sync: sync, Job: jobOf(t), Assemble: patience, expiry: 30 * time.Second}
		m := Rank{Host: fmt.Sprint("host", r), Commit: "c1", Binary: "b1", Schema: 1}
		if change != nil {
			change(&o, &m)
		}
		out[r].Ranks, out[r].err = JoinRanks(t.Context(), o, m)
	})
	t.Cleanup(func() {
		for _, j := range out {
			if j.Ranks != nil {
				j.Leave(context.Background(), "the test is over")
			}
		}
	})
	return out
}

func groupsOf(t *testing.T, all []joined) []*Ranks {
	t.Helper()
	var out []*Ranks
	for r, j := range all {
		if j.err != nil {
			t.Fatalf("rank %d: %v", r, j.err)
		}
		out = append(out, j.Ranks)
	}
	return out
}

func runTogether(n int, f func(i int)) {
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { f(i) })
	}
	wg.Wait()
}

func requireRefused(t *testing.T, err error, want ...string) {
	t.Helper()
	if !errors.Is(err, harness.ErrUsage) || strings.Contains(err.Error(), "\n") {
		t.Errorf("error %v: want one line that wraps ErrUsage", err)
		return
	}
	requireContains(t, err, want...)
}

func requireContains(t *testing.T, err error, want ...string) {
	t.Helper()
	for _, w := range want {
		if err == nil || !strings.Contains(err.Error(), w) {
			t.Errorf("error %q does not contain %q", err, w)
		}
	}
}
