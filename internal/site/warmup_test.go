package site

import (
	"strings"
	"testing"
	"time"

	"locklab/harness"
	"locklab/harness/measure"
	"locklab/harness/result"
)

func TestWarmText(t *testing.T) {
	w := result.WarmUp{Took: 12340 * time.Millisecond, First: 2.1e6, Last: 420e3, Steady: true}
	site := measure.Site{Kind: harness.KindZooKeeper, Servers: 3, Durable: true}
	want := "warmed ZooKeeper (servers=3 durable=on) up for 12.3s: an acquisition takes 420 µs of its processor time, 2.1 ms at first"
	if got := warmText(site, w); strings.ReplaceAll(got, "\u00a0", " ") != want {
		t.Errorf("%q, want %q", got, want)
	}
	w.Steady = false
	if got := warmText(site, w); !strings.HasSuffix(got, "; it was still getting faster") {
		t.Errorf("%q does not say that it was too short", got)
	}
}
