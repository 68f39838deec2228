package backend

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"locklab/harness"
)

// TestLayouts starts each layout, checks its properties, and that nothing remains afterwards.
func TestLayouts(t *testing.T) {
	for _, l := range Layouts {
		t.Run(l.Name, func(t *testing.T) {
			t.Parallel()
			need(t, harness.KindRedis)
			sys := lab(t)
			begin := time.Now()
			s, err := startLayout(t.Context(), sys, l)
			if errors.Is(err, harness.ErrUnavailable) && !Required(harness.KindRedis) {
				t.Skip(err)
			}
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("ready after %v", time.Since(begin))
			at := s.Endpoint()
			if got := len(at.Addrs[0]) + len(s.Sentinels()); len(at.Addrs) != 1 || got != l.servers || len(s.PIDs()) != got {
				t.Errorf("addresses %v, sentinels %v, processes %v: want %d in one list", at.Addrs, s.Sentinels(), s.PIDs(), l.servers)
			}
			for _, addr := range at.Addrs[0] {
				if err := answersAt(at, addr); err != nil {
					t.Error(err)
				}
			}
			if at.TLS != nil {
				if err := answersAt(harness.Endpoint{Kind: at.Kind}, at.Addrs[0][0]); err == nil {
					t.Error("it answers without TLS")
				}
			}
			if err := s.Stop(); err != nil {
				t.Error(err)
			}
			for _, addr := range at.Addrs[0] {
				if err := answersAt(at, addr); err == nil {
					t.Errorf("%s answers after Stop", addr)
				}
			}
			wantEmpty(t, sys.temp)
		})
	}
}

func answersAt(at harness.Endpoint, addr string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	_, err := probeRedis(ctx, at, addr)
	return err
}

// TestLayoutDoesNotSettle: the error names the missing reply.
func TestLayoutDoesNotSettle(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	sys := lab(t)
	need(t, harness.KindRedis)
	odd := *Cluster
	odd.kind.settle = func(ctx context.Context, all []member) error {
		return until(ctx, all[0], "cluster_state:ok", "CLUSTER", "INFO") // of a cluster without slots
	}
	_, err := startLayout(ctx, sys, &odd)
	if err == nil || !strings.Contains(err.Error(), "cluster_state:ok") || !strings.Contains(err.Error(), "redis-cluster") {
		t.Errorf("error is %v, want one that says what it waited for", err)
	}
	wantEmpty(t, sys.temp)
}
