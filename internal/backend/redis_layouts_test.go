package backend

import (
	"context"
	"strings"
	"testing"
	"time"

	"locklab/harness"
)

// TestLayouts starts each layout, checks its properties, and that nothing remains afterwards.
func TestLayouts(t *testing.T) {
	for _, l := range []*Layout{Sentinel, Cluster} {
		t.Run(l.Name, func(t *testing.T) {
			t.Parallel()
			need(t, harness.KindRedis)
			sys := lab(t)
			begin := time.Now()
			s, err := startSetup(t.Context(), sys, harness.KindRedis, Setup{Layout: l})
			requireNoError(t, err)
			t.Logf("ready after %v", time.Since(begin))
			at := s.Endpoint()
			if got := len(at.Addrs[0]) + len(s.Sentinels()); len(at.Addrs) != 1 || got != l.servers || len(s.PIDs()) != got {
				t.Errorf("addresses %v, sentinels %v, processes %v: want %d in one list", at.Addrs, s.Sentinels(), s.PIDs(), l.servers)
			}
			for _, addr := range at.Addrs[0] {
				expectNoError(t, answers(at.Kind, addr))
			}
			expectNoError(t, s.Stop())
			for _, addr := range at.Addrs[0] {
				if err := answers(at.Kind, addr); err == nil {
					t.Errorf("%s answers after Stop", addr)
				}
			}
			wantEmpty(t, sys.temp)
		})
	}
}

// TestLayoutDoesNotSettle: the error names the missing reply.
func TestLayoutDoesNotSettle(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	sys := lab(t)
	need(t, harness.KindRedis)
	odd := *Cluster
	odd.kind.settle = func(ctx context.Context, all []member) error {
		return until(ctx, all[0], 1, "cluster_state:ok", "CLUSTER", "INFO") // of a cluster without slots
	}
	_, err := startLayout(ctx, sys, &odd)
	if err == nil || !strings.Contains(err.Error(), "cluster_state:ok") || !strings.Contains(err.Error(), "redis-cluster") {
		t.Errorf("error is %v, want one that says what it waited for", err)
	}
	wantEmpty(t, sys.temp)
}
