//go:build unix

package measure

import (
	"syscall"
	"testing"

	"locklab/harness"
	"locklab/internal/backend"
	"locklab/internal/faultproxy"
	"locklab/internal/leaktest"
)

func TestCutOff(t *testing.T) {
	direct := parallel(t)
	at := commonServer(t).Endpoint()
	proxy, err := faultproxy.New(at.Addrs[0][0], faultproxy.Unread, faultproxy.Options{})
	requireNoError(t, err)
	defer proxy.Close()
	at.Addrs = [][]string{{proxy.Addr()}}
	all := groups(t, join(t, direct, 2, func(o *RankOptions, m *Rank) {
		if o.expiry = 0; o.Rank == 1 {
			o.Sync = syncOf(at)
		}
	}))
	proxy.Partition(true)
	lost(t, causeOf(t, all[0]), "rank 1 (host host1, pid ", "is gone")
	lost(t, causeOf(t, all[1]), "Redis at "+proxy.Addr()+", where the ranks meet, has not answered for")
	if err := all[1].Leave(t.Context(), ""); err != nil {
		t.Errorf("Leave after the loss: %v", err)
	}
}

func TestServer(t *testing.T) {
	hurt := map[string]func(*testing.T, *backend.Server){
		"hangs": func(t *testing.T, s *backend.Server) { expectNoError(t, s.Signal(0, syscall.SIGSTOP)) },
		"restarted": func(t *testing.T, s *backend.Server) {
			expectNoError(t, s.Restart(t.Context(), 0))
		},
	}
	for name, do := range hurt {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			leaktest.Own(t)
			server := startServer(t, harness.KindRedis, backend.Setup{})
			all := mortalRanks(t, syncOf(server.Endpoint()), 2)
			do(t, server)
			for _, g := range all {
				lost(t, causeOf(t, g), g.meeting.at)
			}
			if _, err := all[0].Share(t.Context(), "plan", nil); err == nil {
				t.Error("a barrier passes without a server")
			}
		})
	}
}
