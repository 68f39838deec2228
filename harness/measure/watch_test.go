package measure

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"locklab/harness"
	"locklab/internal/backend"
	"locklab/internal/faultproxy"
	wireredis "locklab/internal/wire/redis"
)

// killRank ends a rank as if its process was killed: its claim expires.
func killRank(g *Ranks) {
	g.watcher.stop()
	g.watcher.Wait()
	g.meeting.client.Close()
}

func mortalRanks(t *testing.T, sync string, n int) []*Ranks {
	t.Helper()
	return groupsOf(t, joinRanks(t, sync, n, func(o *RankOptions, _ *Rank) { o.expiry = 0 }))
}

// causeOf waits for the end of a rank's context, and returns its cause.
func causeOf(t *testing.T, g *Ranks) error {
	t.Helper()
	select {
	case <-g.Context().Done():
		return context.Cause(g.Context())
	case <-time.After(patience):
		t.Fatalf("rank %d never noticed", g.options.Rank)
		return nil
	}
}

// TestGoneAtBarrier: a rank that dies after its post counts; the next barrier fails.
func TestGoneAtBarrier(t *testing.T) {
	sync := parallelSync(t)
	all := mortalRanks(t, sync, 3)
	own, err := json.Marshal(posted{Barrier: "one"})
	if err == nil {
		_, err = all[2].meeting.exchange(t.Context(), all[2].run, "0", own)
	}
	requireNoError(t, err)
	killRank(all[2])
	runTogether(2, func(r int) {
		if _, err := all[r].Gather(t.Context(), "one", nil); err != nil {
			t.Errorf("rank %d: %v", r, err)
		}
		_, err := all[r].begin(t.Context(), "two", true, nil)
		requireLost(t, err, "rank 2 (host host2, pid ", ") is gone")
	})
}

// TestKilledRun: a new run begins when a dead one's claims expire, and leaves nothing.
func TestKilledRun(t *testing.T) {
	sync := parallelSync(t)
	before := mortalRanks(t, sync, 3)
	for _, g := range before {
		killRank(g)
	}
	all := mortalRanks(t, sync, 2)
	if all[0].run == before[0].run {
		t.Error("the second run has the name of the first")
	}
	requireNoError(t, all[0].Leave(t.Context(), ""))
	b := all[1].meeting
	requireNoError(t, b.client.Del(t.Context(), b.claimKey(1)).Err())
	keys, err := b.client.Keys(t.Context(), b.key("*")).Result()
	if err != nil || len(keys) == 0 {
		t.Errorf("keys %q, %v", keys, err)
	}
	for _, k := range keys {
		ttl, err := b.client.PTTL(t.Context(), k).Result()
		if err != nil || ttl <= 0 && ttl != -2 || ttl > postedExpiry || strings.Contains(k, ":claim:") {
			t.Errorf("key %s expires in %v, %v", k, ttl, err)
		}
	}
}

func TestCutOff(t *testing.T) {
	direct := parallelSync(t)
	at := commonServer(t).Endpoint()
	proxy, err := faultproxy.New(at.Addrs[0][0], faultproxy.Unread, faultproxy.Options{})
	requireNoError(t, err)
	defer proxy.Close()
	at.Addrs = [][]string{{proxy.Addr()}}
	all := groupsOf(t, joinRanks(t, direct, 2, func(o *RankOptions, m *Rank) {
		if o.expiry = 0; o.Rank == 1 {
			o.Sync = syncOf(at)
		}
	}))
	proxy.Partition(true)
	requireLost(t, causeOf(t, all[0]), "rank 1 (host host1, pid ", "is gone")
	requireLost(t, causeOf(t, all[1]), "Redis at "+proxy.Addr()+", where the ranks meet, has not answered for")
	if err := all[1].Leave(t.Context(), ""); err != nil {
		t.Errorf("Leave after the loss: %v", err)
	}
}

func TestServer(t *testing.T) {
	hurt := map[string]func(*testing.T, *backend.Server){
		"hangs": func(t *testing.T, s *backend.Server) { requireNoError(t, s.Signal(0, syscall.SIGSTOP)) },
		"restarted": func(t *testing.T, s *backend.Server) {
			requireNoError(t, s.Restart(t.Context(), 0))
		},
	}
	for name, do := range hurt {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := startServer(t, harness.KindRedis, backend.Setup{})
			all := mortalRanks(t, syncOf(server.Endpoint()), 2)
			do(t, server)
			for _, g := range all {
				requireLost(t, causeOf(t, g), g.meeting.at)
			}
			if _, err := all[0].Share(t.Context(), "plan", nil); err == nil {
				t.Error("a barrier passes without a server")
			}
		})
	}
}

// TestSecure: a wrong password, or too few rights, is an error of one line without the password.
func TestSecure(t *testing.T) {
	if testing.Short() {
		t.Skip("make test-all runs it")
	}
	t.Parallel()
	const word = "s3cr3t-w0rd"
	at := startServer(t, harness.KindRedis, backend.Setup{}).Endpoint()
	owner, _, err := wireredis.Connect(at)
	requireNoError(t, err)
	defer owner.Close()
	for _, command := range [][]any{
		{"acl", "setuser", "ranks", "on", ">" + word},
		{"acl", "setuser", "poor", "on", ">" + word, "~locklab:ranks:*", "+ping", "+hello"},
		{"config", "set", "requirepass", "another"},
	} {
		requireNoError(t, owner.Do(t.Context(), command...).Err())
	}
	for _, c := range []struct{ name, user, want string }{
		{"password", "ranks:wrong-" + word + "@", "refuses this rank: the server refuses a request: WRONGPASS"},
		{"no password", "", "NOAUTH"},
		{"rights", "poor:" + word + "@", "NOPERM"}, // the first claim shows it
	} {
		t.Run(c.name, func(t *testing.T) {
			o := RankOptions{Ranks: 1, Sync: "redis://" + c.user + at.Addrs[0][0], Job: jobOf(t)}
			_, err := JoinRanks(t.Context(), o, Rank{})
			errs := []error{err}
			if c.name != "rights" {
				errs = append(errs, CheckRanks(t.Context(), o))
			}
			for _, err := range errs {
				requireRefused(t, err, c.want)
				if strings.Contains(fmt.Sprint(err), word) {
					t.Errorf("the password is in %q", err)
				}
			}
		})
	}
}
