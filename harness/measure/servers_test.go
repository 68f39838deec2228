package measure

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"locklab/harness"
	"locklab/harness/result"
	"locklab/internal/backend"
	redislab "locklab/redislock/lab"
	zklab "locklab/zklock/lab"
)

func measureContended(t *testing.T, at harness.Endpoint, name string) *result.Result {
	t.Helper()
	locks := slices.Concat(redislab.Suite, zklab.Suite)
	i := slices.IndexFunc(locks, func(v *harness.Variant) bool { return v.Name == name })
	if i < 0 {
		t.Fatalf("there is no lock %s", name)
	}
	r, err := Measure(t.Context(), instruments(), Job{Lock: locks[i], At: at, Key: strings.ReplaceAll(t.Name(), "/", "-") + name,
		Workload: harness.Workload{Workers: 8, Hold: harness.Span{Mean: 20 * time.Millisecond}, Warmup: 40 * time.Millisecond, Window: 300 * time.Millisecond}})
	if err != nil || len(r.Violations) > 0 || r.Servers == nil {
		t.Fatalf("%s: %+v, %v: want what it costs the servers", name, r, err)
	}
	return r
}

// awaitAlone waits until the server at has no client but the caller.
func awaitAlone(t *testing.T, at harness.Endpoint) {
	t.Helper()
	for begin := time.Now(); ; time.Sleep(quietPause) {
		u, err := backend.ReadUsage(t.Context(), at, 1)
		switch {
		case err != nil:
			t.Fatal(err)
		case u.Connections <= 1:
			return
		case time.Since(begin) > 10*time.Second:
			t.Fatalf("%d clients do not leave", u.Connections-1)
		}
	}
}

// TestQuiet: a meter's initial state excludes departing clients, also among foreign ones.
func TestQuiet(t *testing.T) {
	for _, c := range []struct {
		name    string
		clients []int64 // at each reading; the last value repeats
		still   time.Duration
		want    int64
		takes   time.Duration // upper limit
	}{
		{"nothing there", []int64{1}, stillTime, 1, 0},
		{"leave at once", []int64{9, 1}, stillTime, 1, quietPause},
		{"leave one by one", []int64{9, 9, 9, 8, 8, 8, 8, 8, 8, 8, 8, 3, 3, 3, 3, 3, 1}, stillTime, 1, 16 * quietPause},
		{"user's server, others stay", []int64{9, 9, 9, 9, 7, 7, 7, 7, 5}, theirsTime, 5, theirsTime + 10*quietPause},
		{"user's server, one more comes", []int64{9, 5, 6}, theirsTime, 6, theirsTime + 3*quietPause},
		{"others stay", []int64{3}, stillTime, 3, stillTime + 2*quietPause},
		{"others never stop leaving", nil, stillTime, 500, quietTime + 2*quietPause},
	} {
		synctest.Test(t, func(t *testing.T) {
			begin, reads := time.Now(), 0
			u, err := quiet(func() (backend.Usage, error) {
				reads++
				if c.clients == nil {
					return backend.Usage{Connections: int64(1000 - reads)}, nil
				}
				return backend.Usage{Connections: c.clients[min(reads, len(c.clients))-1]}, nil
			}, 1, c.still)
			took := time.Since(begin)
			if got := u.Connections; err != nil || took > c.takes || got != c.want && (c.clients != nil || got > c.want) {
				t.Errorf("%s: %d connections after %v (%v), want %d by %v", c.name, got, took, err, c.want, c.takes)
			}
		})
	}
}

// TestDistributedBlocks: each lock in a process is charged for its own connections only.
func TestDistributedBlocks(t *testing.T) {
	at := startServer(t, harness.KindRedis, backend.Setup{}).Endpoint()
	connections := map[string]int64{"redis-poll-1ms": 8, "redis-queue": 16, "redis-token": 16}
	var wrong []string
	for range 5 {
		awaitAlone(t, at)
		wrong = nil
		rs := distributedBlocks(t, at, slices.Sorted(maps.Keys(connections)))
		if len(rs) != len(connections) {
			t.Fatalf("%d results, want %d", len(rs), len(connections))
		}
		for _, r := range rs {
			b := r.Blocks
			if b == nil || !b.Valid() || b.Process != rs[0].Blocks.Process || len(b.Ops) != fewestBlocks+1 || r.Servers == nil || r.Servers.Connections == nil {
				t.Fatalf("%s: blocks %+v, servers %+v, want %d blocks of one process", r.Lock.Name, b, r.Servers, fewestBlocks+1)
			}
			if n, want := *r.Servers.Connections, connections[r.Lock.Name]; n != want || slices.Contains(b.Handovers, 0) {
				wrong = append(wrong, fmt.Sprintf("%s: %d connections, want %d; handovers %d", r.Lock.Name, n, want, b.Handovers))
			}
		}
		if wrong == nil {
			return
		}
	}
	t.Errorf("none of five tries was right; the last: %q", wrong)
}

func distributedBlocks(t *testing.T, at harness.Endpoint, names []string) []*result.Result {
	t.Helper()
	w := harness.Workload{Workers: 8, Warmup: 10 * time.Millisecond, Window: 60 * time.Millisecond}
	s := spec{Workload: w, Seed: 7, Block: 30 * time.Millisecond}
	var jobs []Job
	for _, v := range redislab.Suite {
		if slices.Contains(names, v.Name) {
			jobs = append(jobs, Job{Lock: v, At: at, Key: t.Name() + v.Name, Workload: w})
			s.Shared = append(s.Shared, share{Passes: fewestBlocks, PerPass: 1})
		}
	}
	return measureBlocks(t, jobs, s)
}

// TestServerCost: polling waiters cost the server more than queued ones, by the clock of its
// process and by its own report.
func TestServerCost(t *testing.T) {
	at := startServer(t, harness.KindRedis, backend.Setup{}).Endpoint()
	cpu := func(name string) float64 {
		t.Helper()
		r := measureContended(t, at, name)
		v, ok := result.ServerCPU.Of(r)
		if !ok {
			t.Fatalf("%s: what the server used is not known", name)
		}
		return v
	}
	awaitAlone(t, at)
	if v, ok := result.ServerMemory.Of(measureContended(t, at, "redis-pubsub")); !ok || v <= 0 {
		t.Errorf("the server's memory grew by %v a worker (%v)", v, ok)
	}
	for _, pids := range [][]int{at.PIDs, nil} { // a user's server has no known process
		at.PIDs = pids
		awaitAlone(t, at)
		poll, queue := cpu("redis-poll-1ms"), cpu("redis-queue")
		for tries := 1; poll <= queue && tries < 5; tries++ { // others on the machine make some acquisitions more expensive
			poll, queue = cpu("redis-poll-1ms"), cpu("redis-queue")
		}
		if poll <= queue {
			t.Errorf("processes %v: an acquisition by polling costs the server %.0f ns, one by a queue %.0f", pids, poll, queue)
		}
	}
	zk := startServer(t, harness.KindZooKeeper, backend.Setup{}).Endpoint()
	for _, pids := range [][]int{zk.PIDs, nil} {
		zk.PIDs = pids
		awaitAlone(t, zk)
		r := measureContended(t, zk, "zk-fair")
		v, ok := result.Connections.Of(r)
		for tries := 1; v != 1 && tries < 5; tries++ { // a busy server may not have noticed a closed connection
			r = measureContended(t, zk, "zk-fair")
			v, ok = result.Connections.Of(r)
		}
		if !ok || v != 1 || r.Servers.Memory != nil || (r.Servers.CPU != nil) != (pids != nil) {
			t.Errorf("processes %v: zk-fair has %v connections a worker (%v) and costs its server %+v", pids, v, ok, r.Servers)
		}
	}
}
