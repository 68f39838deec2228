package backend

import (
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
