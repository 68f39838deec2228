package page

import (
	"strings"
	"testing"
	"time"

	"locklab/harness"
	"locklab/harness/result"
	"locklab/internal/numfmt"
)

func TestSiteFacts(t *testing.T) {
	for _, test := range []struct {
		s           result.Site
		name, value string
	}{
		{result.Site{Kind: harness.KindRedis, Version: "7.0.15", Servers: 1, Independent: 1, Settings: "appendonly no", Direct: 17000},
			"redis servers", "version 7.0.15; appendonly no; a request and its answer take 17 µs"},
		{result.Site{Kind: harness.KindRedis, Conditions: "servers=3 delay=1ms", Servers: 3, Independent: 1, Delay: time.Millisecond, Direct: 20000, Delayed: 1100000},
			"redis servers, servers=3 delay=1ms", "3 that replicate; a request and its answer take 20 µs; 1.1 ms with the delay of 1ms"},
		{result.Site{Kind: harness.KindZooKeeper, Conditions: "servers=3 durable=on", Servers: 3, Independent: 1, FileSystem: "ext4", SyncTime: 2e6},
			"zookeeper servers, servers=3 durable=on", "3 that replicate; the disk (ext4) keeps a small write in 2 ms"},
		{result.Site{Kind: harness.KindRedis, Servers: 1, Independent: 3, SyncTime: 2e6},
			"redis servers", "3 independent ones; the disk (file system not known) keeps a small write in 2 ms"},
	} {
		run := &result.Run{Manifest: result.Manifest{Sites: []result.Site{test.s}}}
		var found []string
		for _, f := range environment(run) {
			if strings.Contains(f.Name, "servers") {
				found = append(found, f.Name+": "+numfmt.Plain(f.Value))
			}
		}
		if want := test.name + ": " + test.value; len(found) != 1 || found[0] != want {
			t.Errorf("found %q, want\n%q", found, want)
		}
	}
}

func TestPartFacts(t *testing.T) {
	on := func(rank int, host string) result.Part {
		return result.Part{Rank: rank, Host: host, OS: "linux", Arch: "arm64", Kernel: "6.1", CPU: "C" + host, CPUs: 8}
	}
	run := &result.Run{Manifest: result.Manifest{Parts: []result.Part{on(0, "a"), on(1, "b"), on(2, "a")}}}
	var found []string
	for _, f := range environment(run) {
		if strings.HasPrefix(f.Name, "host ") {
			found = append(found, f.Name+": "+f.Value)
		}
	}
	if got, want := strings.Join(found, "; "), "host a: 8 × Ca, linux arm64 6.1; host b: 8 × Cb, linux arm64 6.1"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
