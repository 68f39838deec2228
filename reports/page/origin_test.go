package page

import (
	"slices"
	"testing"
	"time"

	"locklab/harness"
	"locklab/harness/result"
	"locklab/internal/numfmt"
)

func TestFacts(t *testing.T) {
	site := func(s result.Site) result.Manifest { return result.Manifest{Sites: []result.Site{s}} }
	for want, m := range map[string]result.Manifest{
		"redis servers: version 7.0.15; appendonly no; a request and its answer take 17 µs": site(result.Site{
			Kind: harness.KindRedis, Version: "7.0.15", Servers: 1, Independent: 1, Settings: "appendonly no", Direct: 17000}),
		"redis servers, servers=3 delay=1ms: 3 that replicate; a request and its answer take 20 µs; 1.1 ms with the delay of 1ms": site(result.Site{
			Kind: harness.KindRedis, Conditions: "servers=3 delay=1ms", Servers: 3, Independent: 1, Delay: time.Millisecond, Direct: 20000, Delayed: 1100000}),
		"zookeeper servers, servers=3 durable=on: 3 that replicate; the disk (ext4) keeps a small write in 2 ms": site(result.Site{
			Kind: harness.KindZooKeeper, Conditions: "servers=3 durable=on", Servers: 3, Independent: 1, FileSystem: "ext4", SyncTime: 2e6}),
		"redis servers: 3 independent ones; the disk (file system not known) keeps a small write in 2 ms": site(result.Site{
			Kind: harness.KindRedis, Servers: 1, Independent: 3, SyncTime: 2e6}),
		"host b: 8 × C, linux arm64 6.1":                                              {Parts: []result.Part{{Rank: 1, Host: "b", OS: "linux", Arch: "arm64", Kernel: "6.1", CPU: "C", CPUs: 8}}},
		"section map: 21.5 ns for a change of its data, by one worker without a lock": {Sections: map[harness.Section]float64{harness.SectionMap: 21.5}},
	} {
		facts := environment(&result.Run{Manifest: m})
		if !slices.ContainsFunc(facts, func(f fact) bool { return numfmt.Plain(f.Name+": "+f.Value) == want }) {
			t.Errorf("got %q, want %q", facts, want)
		}
	}
}
