package lab

import (
	"strings"
	"testing"
	"time"

	"locklab/harness/locktest"
	"locklab/internal/site"
)

// TestWarmUp: only own ZooKeeper servers of a long run are warmed up, with a message and a record.
func TestWarmUp(t *testing.T) {
	for _, test := range []struct {
		name, locks string
		most        time.Duration
		want        bool
	}{
		{"long", "zk-handoff", site.WarmLeast, true},
		{"short", "zk-handoff", site.WarmLeast - 1, false},
		{"redis", "redis-queue", time.Minute, false},
		{"of another", "zk-handoff", time.Minute, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := planOf(t, optionsOf(t, "--workers=2 "+"--locks="+test.locks))
			for _, kind := range p.Needs() {
				t.Setenv(variable(kind), "")
				if test.name == "of another" {
					t.Setenv(variable(kind), locktest.Endpoint(t, kind).Addrs[0][0])
				}
			}
			var said strings.Builder
			s, skipped, err := site.Start(t.Context(), p, test.most, &said)
			defer s.Stop()
			requireNoError(t, err)
			if len(skipped) > 0 { // a required server that is missing is an error
				t.Skip(skipped[0].Reason)
			}
			w := s.Sites[0].WarmUp
			if got := w != nil; got != test.want || got != strings.Contains(said.String(), "warmed ZooKeeper up for ") {
				t.Fatalf("%+v, said %q", w, said.String())
			}
			if w != nil && (w.Took < test.most/2 || w.First <= 0 || w.Last <= 0) {
				t.Errorf("%+v", w)
			}
		})
	}
}
