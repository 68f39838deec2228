package peers_test

import (
	"context"
	"crypto/rand"
	"flag"
	"fmt"
	mathrand "math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"locklab/harness"
	"locklab/harness/locktest"
	"locklab/harness/runner"
	"locklab/harness/stat"
	wireredis "locklab/internal/wire/redis"
	"locklab/peers"
)

var (
	redisRounds  = flag.Int("redis.rounds", 7, "rounds of BenchmarkRedisPairs")
	redisWorkers = flag.String("redis.workers", "8,50", "numbers of workers in BenchmarkRedisPairs")
	redisWindow  = flag.Duration("redis.window", time.Second, "how long BenchmarkRedisPairs counts in each cell")
	redisHold    = flag.Duration("redis.hold", 0, "how long the lock is kept in BenchmarkRedisPairs")
	redisLocks   = flag.String("redis.locks", "all", "peers in BenchmarkRedisPairs, by name")
)

// What BenchmarkRedisPairs says about redis-queue holds if it holds beside each
// peer, in each setting and at each number of workers.
const (
	claimedRate = 1.5      // times the hand-overs per second, at least
	claimedP99  = 1.0 / 3  // times the 99th percentile of the wait, at most
	claimedJain = 99.9     // per cent, at least
	claimLevel  = 1 - 0.05 // confidence of the intervals
	redisWarmup = 200 * time.Millisecond
)

// BenchmarkRedisPairs sets redis-queue beside each Redis lock of others,
// on one server. In each round every peer has two cells, one after the other in
// random order: redis-queue's and its own. Every worker has its own client, and
// so its own connections; rueidislock is there also with all workers behind one
// client, as it is meant to be used in one process, and so is redis-queue then.
// Two locks are compared by the ratios of such pairs: their median, and its
// interval by order statistics.
//
// Where one worker takes the lock again and again, most acquisitions wait for
// nothing, and a percentile of all of them says little about the others. So
// there is also the wait of those that got the lock from another worker, and a peer
// of which they are less than one in a hundred is left out of the claim about all
// waits, by name.
//
//	go test -run '^$' -bench RedisPairs -benchtime 1x -timeout 1h ./peers
//	go test -run '^$' -bench RedisPairs -benchtime 1x ./peers -redis.locks redsync-1ms -redis.workers 50 -redis.rounds 11
//
// A round in which one of the two broke a promise, such as a worker that never
// came back, is counted as broken and not compared. The benchmark fails if
// redis-queue did.
func BenchmarkRedisPairs(b *testing.B) {
	at := locktest.Endpoint(b, harness.KindRedis)
	rivals := redisRivals(b)
	in := sync.OnceValue(runner.Calibrate)
	for _, word := range strings.Split(*redisWorkers, ",") {
		n, err := strconv.Atoi(word)
		if err != nil || n < 2 {
			b.Fatalf("-redis.workers=%s: want numbers above 1, such as 8,50", *redisWorkers)
		}
		var report string
		b.Run(fmt.Sprintf("workers=%d", n), func(b *testing.B) {
			m := &redisMatch{at: at, in: in(), queue: redisQueue(b), workers: n, pairs: make([][]redisPair, len(rivals)), rivals: rivals}
			for round := range *redisRounds {
				m.round(b, round)
			}
			b.ReportMetric(0, "ns/op") // says nothing
			report = m.report(b)
		})
		fmt.Print(report) // b.Log would cut it after ten lines
	}
}

// A redisRival is a peer in one setting.
type redisRival struct {
	lock    *harness.Variant
	clients int // 0 is one for each worker
}

func (r redisRival) String() string {
	if r.clients == 0 {
		return r.lock.Name
	}
	return fmt.Sprintf("%s/clients=%d", r.lock.Name, r.clients)
}

// redisRivals returns the peers that -redis.locks names.
func redisRivals(b *testing.B) (rivals []redisRival) {
	want := strings.Split(*redisLocks, ",")
	for _, v := range peers.Suite {
		if v.Traits.Needs != harness.KindRedis || *redisLocks != "all" && !slices.Contains(want, v.Name) {
			continue
		}
		rivals = append(rivals, redisRival{lock: v})
		if strings.HasPrefix(v.Name, "rueidislock") {
			rivals = append(rivals, redisRival{v, 1})
		}
	}
	if len(rivals) == 0 {
		b.Fatalf("-redis.locks=%s: no such peer; locklab list names them", *redisLocks)
	}
	return rivals
}

// A redisMatch is the cells of all rivals at one number of workers.
type redisMatch struct {
	at      harness.Endpoint
	in      *runner.Instruments
	queue   *harness.Variant
	workers int
	rivals  []redisRival
	pairs   [][]redisPair // by rival, then by round
	pings   []float64     // ns, medians before each pair
}

// A redisPair is two cells that ran one after the other.
type redisPair struct{ queue, peer redisCell }

// A redisCell is what one lock did.
type redisCell struct {
	*harness.Result
	waits []float64 // ns, before hand-overs
}

// round gives every rival its pair, in random order.
func (m *redisMatch) round(b *testing.B, round int) {
	rng := mathrand.New(mathrand.NewPCG(uint64(round), uint64(m.workers)))
	for _, i := range rng.Perm(len(m.rivals)) {
		m.ping(b)
		var p redisPair
		cells := []func(){
			func() { p.queue = m.cell(b, redisRival{m.queue, m.rivals[i].clients}) },
			func() { p.peer = m.cell(b, m.rivals[i]) },
		}
		for _, k := range rng.Perm(len(cells)) {
			cells[k]()
		}
		for _, v := range p.queue.Violations {
			b.Errorf("%s violated %s %d times: %s", m.queue.Name, v.Rule, v.Count, v.Detail)
		}
		m.pairs[i] = append(m.pairs[i], p)
	}
}

// ping measures the bare round trip, on a connection of its own.
func (m *redisMatch) ping(b *testing.B) {
	client, _, err := wireredis.Connect(m.at)
	if err != nil {
		b.Fatal(err)
	}
	defer client.Close()
	const some = 200
	times := make([]float64, 0, some)
	for k := range some + 1 {
		began := time.Now()
		if err := client.Ping(b.Context()).Err(); err != nil {
			b.Fatal(err)
		}
		if k > 0 { // the first one connects
			times = append(times, float64(time.Since(began)))
		}
	}
	m.pings = append(m.pings, stat.Summarize(times).Median)
}

// cell measures one lock.
func (m *redisMatch) cell(b *testing.B, r redisRival) redisCell {
	watch := &redisWatch{waits: make([][]redisWait, m.workers)}
	lock := *r.lock
	lock.Remote = watch.over(r.lock.Remote)
	res, err := runner.Measure(b.Context(), m.in, runner.Job{
		Lock: &lock, At: m.at, Key: "redis-pairs-" + rand.Text(), Seed: 1,
		Workload: harness.Workload{
			Workers: m.workers, Clients: r.clients, Hold: harness.Span{Mean: *redisHold},
			Warmup: redisWarmup, Window: *redisWindow,
		},
		Patience: 5 * time.Second,
	})
	if err != nil {
		b.Fatalf("%v: %v", r, err)
	}
	if len(res.Violations) > 0 {
		watch.close() // the runner leaves the clients of stuck workers open
		return redisCell{Result: res}
	}
	return redisCell{res, watch.since(res.Started)}
}

// A redisWatch notes the waits before hand-overs, and the clients, of a cell.
type redisWatch struct {
	last  atomic.Int64  // 1 + the worker that has had the lock last
	waits [][]redisWait // by worker

	mu      sync.Mutex
	clients []harness.Remote
}

type redisWait struct {
	began time.Time
	took  time.Duration
}

type redisDial = func(context.Context, harness.Endpoint, string) (harness.Remote, error)

func (w *redisWatch) over(dial redisDial) redisDial {
	return func(ctx context.Context, at harness.Endpoint, key string) (harness.Remote, error) {
		r, err := dial(ctx, at, key)
		if err != nil {
			return nil, err
		}
		w.mu.Lock()
		defer w.mu.Unlock()
		w.clients = append(w.clients, r)
		return watchedRedis{r, r.(harness.Counter), w}, nil
	}
}

func (w *redisWatch) close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, r := range w.clients {
		_ = r.Close() // mostly closed before
	}
}

// since returns the waits that began after start. All workers must be back.
func (w *redisWatch) since(start time.Time) (ns []float64) {
	for _, waits := range w.waits {
		for _, x := range waits {
			if x.began.After(start) {
				ns = append(ns, float64(x.took))
			}
		}
	}
	slices.Sort(ns)
	return ns
}

type watchedRedis struct {
	harness.Remote
	harness.Counter
	watch *redisWatch
}

func (r watchedRedis) Join(ctx context.Context, i int) (harness.Session, error) {
	s, err := r.Remote.Join(ctx, i)
	return watchedRedisSession{s, r.watch, i}, err
}

type watchedRedisSession struct {
	harness.Session
	watch *redisWatch
	i     int
}

func (s watchedRedisSession) Lock(ctx context.Context) (harness.Lease, error) {
	began := time.Now()
	l, err := s.Session.Lock(ctx)
	if me := int64(s.i) + 1; err == nil && s.watch.last.Swap(me) != me {
		s.watch.waits[s.i] = append(s.watch.waits[s.i], redisWait{began, time.Since(began)})
	}
	return l, err
}
