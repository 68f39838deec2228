package measure

import (
	"strings"
	"testing"

	"locklab/harness"
	"locklab/internal/backend"
)

// TestRefusedForAWhile: a barrier awaits the end of a temporary refusal.
func TestRefusedForAWhile(t *testing.T) {
	t.Parallel()
	server := startServer(t, harness.KindRedis, backend.Setup{})
	all := groupsOf(t, joinRanks(t, syncOf(server.Endpoint()), 2, nil))
	admin := all[0].meeting.client
	requireNoError(t, admin.ConfigSet(t.Context(), "maxmemory", "1").Err())
	errs := make(chan error)
	for _, g := range all {
		go func() { _, err := g.Gather(t.Context(), "all", nil); errs <- err }()
	}
	waitUntil(t, func() bool { return strings.Contains(admin.Info(t.Context(), "commandstats").Val(), "cmdstat_hsetnx") }, "a post is refused")
	requireNoError(t, admin.ConfigSet(t.Context(), "maxmemory", "0").Err())
	for range all {
		requireNoError(t, <-errs)
	}
}
