package measure

import (
	"bytes"
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

func contended(t *testing.T, at harness.Endpoint, name string) *harness.Result {
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

// alone waits until the server at has no client but the caller.
func alone(t *testing.T, at harness.Endpoint) {
	t.Helper()
	g, err := backend.NewGauge(at, 1)
	requireNoError(t, err)
	defer g.Close()
	for begin := time.Now(); ; time.Sleep(quietPause) {
		u, err := g.Read(t.Context())
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
		alone(t, at)
		wrong = nil
		rs := distributedBlocks(t, at, slices.Sorted(maps.Keys(connections)))
		if len(rs) != len(connections) {
			t.Fatalf("%d results, want %d", len(rs), len(connections))
		}
		for _, r := range rs {
			b := r.Blocks
			if b == nil || !b.Valid() || b.Process != 7 || len(b.Ops) != remotePasses+1 || r.Servers == nil || r.Servers.Connections == nil {
				t.Fatalf("%s: blocks %+v, servers %+v, want %d blocks of process 7", r.Lock.Name, b, r.Servers, remotePasses+1)
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

func distributedBlocks(t *testing.T, at harness.Endpoint, names []string) []*harness.Result {
	t.Helper()
	w := harness.Workload{Workers: 8, Warmup: 10 * time.Millisecond, Window: 60 * time.Millisecond}
	var jobs []Job
	for _, v := range redislab.Suite {
		if slices.Contains(names, v.Name) {
			jobs = append(jobs, Job{Lock: v, At: at, Key: t.Name() + v.Name, Workload: w})
		}
	}
	var out bytes.Buffer
	requireNoError(t, measureShared(t.Context(), instruments(), jobs, spec{Workload: w, Seed: 7}, &out))
	return results(out.Bytes())
}

// TestServerCost: polling waiters cost more than queued ones, waiters for a message a
// connection.
func TestServerCost(t *testing.T) {
	at := startServer(t, harness.KindRedis, backend.Setup{}).Endpoint()
	connected := func(at harness.Endpoint, name string, want int64) (r *harness.Result) {
		t.Helper()
		var v float64
		var ok bool
		for range 5 { // a busy server may not have noticed a closed connection
			r = contended(t, at, name)
			if v, ok = result.Connections.Of(r); ok && v*8 == float64(want) {
				return r
			}
		}
		t.Errorf("%s has %v connections a worker (%v), want %d of 8 workers", name, v, ok, want)
		return r
	}
	cpu := func(r *harness.Result) float64 {
		t.Helper()
		v, ok := result.ServerCPU.Of(r)
		if !ok {
			t.Fatalf("%s: what the server used is not known", r.Lock.Name)
		}
		return v
	}
	poll, queue, subscribe := connected(at, "redis-poll-1ms", 8), connected(at, "redis-queue", 16), connected(at, "redis-pubsub", 16)
	costsMore := func(how string) {
		t.Helper()
		p, q := cpu(poll), cpu(queue)
		for range 4 { // others on the machine can make an acquisition more expensive for its server
			if p > q {
				return
			}
			p, q = cpu(contended(t, at, "redis-poll-1ms")), cpu(contended(t, at, "redis-queue"))
		}
		t.Errorf("%s: an acquisition by polling costs the server %.0f ns, one by a queue %.0f", how, p, q)
	}
	costsMore("by the process's clock")
	for _, r := range []*harness.Result{poll, queue, subscribe} {
		if v, ok := result.ServerMemory.Of(r); !ok || v <= 0 {
			t.Errorf("%s: the server's memory grew by %v a worker (%v)", r.Lock.Name, v, ok)
		}
	}
	at.PIDs = nil // as for a user's server, which reports its own usage
	alone(t, at)
	poll, queue = contended(t, at, "redis-poll-1ms"), contended(t, at, "redis-queue")
	costsMore("by INFO")
	zk := startServer(t, harness.KindZooKeeper, backend.Setup{}).Endpoint()
	fair := connected(zk, "zk-fair", 8)
	if cpu(fair) <= 0 || fair.Servers.Memory != nil {
		t.Errorf("zk-fair costs its server %+v", fair.Servers)
	}
	zk.PIDs = nil
	alone(t, zk)
	if fair = connected(zk, "zk-fair", 8); fair.Servers.CPU != nil {
		t.Errorf("a ZooKeeper server that the lab did not start used %v", *fair.Servers.CPU)
	}
}
