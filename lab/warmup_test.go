package lab

import (
	"strings"
	"testing"
	"time"

	"locklab/harness"
	"locklab/harness/locktest"
	"locklab/harness/result"
)

// TestWarmUp: ZooKeeper servers of a sufficiently long run are warmed up, with a message
// and a record. Redis servers, which do not get faster, and servers of a short run are not.
func TestWarmUp(t *testing.T) {
	for _, test := range []struct {
		name, locks string
		most        time.Duration
		want        bool
	}{
		{"long", "zk-handoff", warmLeast, true},
		{"short", "zk-handoff", warmLeast - 1, false},
		{"redis", "redis-queue", time.Minute, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := planned(t, optionsOf(t, "--workers=2 "+"--locks="+test.locks))
			for _, kind := range p.Needs() {
				t.Setenv(variable(kind), "")
			}
			var said strings.Builder
			s, skipped, err := startServers(t.Context(), p, test.most, &said)
			defer s.stop()
			if err != nil {
				t.Fatal(err)
			}
			if len(skipped) > 0 { // a required server that is missing is an error
				t.Skip(skipped[0].Reason)
			}
			w := s.accounts[0].WarmUp
			if got := w != nil; got != test.want || got != strings.Contains(said.String(), "warmed ZooKeeper up for ") {
				t.Fatalf("%+v, said %q", w, said.String())
			}
			if w != nil && (w.Took < test.most/2 || w.First <= 0 || w.Last <= 0) {
				t.Errorf("%+v", w)
			}
		})
	}
}

// TestWarmUpOfAnother: a server that the lab did not start is not warmed up.
func TestWarmUpOfAnother(t *testing.T) {
	at := locktest.Endpoint(t, harness.KindZooKeeper)
	t.Setenv(variable(harness.KindZooKeeper), at.Addrs[0][0])
	s, _, err := startServers(t.Context(), planned(t, optionsOf(t, "--locks=zk-handoff --workers=2")), time.Minute, t.Output())
	defer s.stop()
	if err != nil || s.accounts[0].WarmUp != nil {
		t.Errorf("%v: %+v", err, s.accounts)
	}
}

// TestWarmText: the text describes the warm-up, and if it was too short.
func TestWarmText(t *testing.T) {
	w := result.WarmUp{Took: 12340 * time.Millisecond, First: 2.1e6, Last: 420e3, Steady: true}
	site := harness.Site{Kind: harness.KindZooKeeper, Servers: 3, Durable: true}
	want := "warmed ZooKeeper (servers=3 durable=on) up for 12.3s: an acquisition takes 420 µs of its processor time, 2.1 ms at first"
	if got := warmText(site, w); strings.ReplaceAll(got, "\u00a0", " ") != want {
		t.Errorf("%q, want %q", got, want)
	}
	w.Steady = false
	if got := warmText(site, w); !strings.HasSuffix(got, "; it was still getting faster") {
		t.Errorf("%q does not say that it was too short", got)
	}
}
