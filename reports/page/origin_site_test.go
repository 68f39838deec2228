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
			"redis servers", "version 7.0.15; one; appendonly no; a bare request and its answer take 17 µs"},
		{result.Site{Kind: harness.KindRedis, Conditions: "servers=3 delay=1ms", Servers: 3, Independent: 1, Delay: time.Millisecond, Direct: 20000, Proxied: 40000, Delayed: 1100000},
			"redis servers, servers=3 delay=1ms", "a primary and 2 replicas; a bare request and its answer take 20 µs; 40 µs through the proxy, which itself costs 20 µs, and 1.1 ms with its delay of 1ms"},
		{result.Site{Kind: harness.KindRedis, Servers: 1, Independent: 1, Delay: time.Millisecond, Direct: 40000, Proxied: 39000, Delayed: 1100000},
			"redis servers", "one; a bare request and its answer take 40 µs; 39 µs through the proxy, whose own cost does not show beside that, and 1.1 ms with its delay of 1ms"},
		{result.Site{Kind: harness.KindZooKeeper, Conditions: "servers=3 durable=on", Servers: 3, Independent: 1, FileSystem: "ext4", SyncTime: 2e6},
			"zookeeper servers, servers=3 durable=on", "an ensemble of 3; the disk (ext4) keeps a small write in 2 ms"},
		{result.Site{Kind: harness.KindRedis, Servers: 1, Independent: 3, SyncTime: 2e6},
			"redis servers", "3 independent ones; the disk (its file system is not known) keeps a small write in 2 ms"},
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
		if strings.HasPrefix(f.Name, "ranks") {
			found = append(found, f.Name+": "+f.Value)
		}
	}
	if got, want := strings.Join(found, "; "), "ranks on a: 0 and 2: 8 × Ca, linux arm64 6.1; ranks on b: 1: 8 × Cb, linux arm64 6.1"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
