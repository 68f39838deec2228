package peers_test

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"locklab/harness"
	"locklab/harness/oracle"
	"locklab/harness/recorder"
	"locklab/harness/stat"
	"locklab/internal/backend"
	"locklab/peers"
)

var (
	pairRounds  = flag.Int("pairs.rounds", 7, "rounds of BenchmarkZooKeeperPairs")
	pairWorkers = flag.String("pairs.workers", "1,8,50", "numbers of workers in BenchmarkZooKeeperPairs, each with its own session")
	pairWindow  = flag.Duration("pairs.window", time.Second, "how long BenchmarkZooKeeperPairs counts in each cell")
	pairWarmUp  = flag.Int("pairs.warmup", 6, "rounds at the start of BenchmarkZooKeeperPairs that do not count, for compilers at run time")
	pairHold    = flag.Duration("pairs.hold", 0, "how long the lock is kept in BenchmarkZooKeeperPairs")
	pairServers = flag.Int("pairs.servers", 1, "servers in the ensemble that BenchmarkZooKeeperPairs starts")
	pairLocks   = flag.String("pairs.locks", "zk-fair,zk-handoff,go-zookeeper-lock,curator-mutex", "locks of BenchmarkZooKeeperPairs; unknown ones are left out")
	pairBase    = flag.String("pairs.base", "go-zookeeper-lock,curator-mutex", "locks with which BenchmarkZooKeeperPairs compares the others")
)

// BenchmarkZooKeeperPairs sets ZooKeeper locks beside each other, the peers in
// the language they were written for: Curator's workers are Java threads that
// take no message per turn, all others goroutines, and every worker has a
// session of its own. All share the servers. In each round every lock gets one
// cell, in random order; two locks are compared by the ratio of their rates in
// the same round. What is printed is the median of the rounds with its interval by order statistics.
//
//	go test -run '^$' -bench ZooKeeperPairs -benchtime 1x ./peers
//	go test -run '^$' -bench ZooKeeperPairs -benchtime 1x ./peers -pairs.servers 3 -pairs.rounds 11
//
// A cell takes about a second longer than its window: (6 + 3 × 7) rounds of 4 locks
// are less than four minutes.
func BenchmarkZooKeeperPairs(b *testing.B) {
	pairing{*pairWorkers, *pairLocks, *pairBase, false}.run(b)
}

// BenchmarkZooKeeperShared is BenchmarkZooKeeperPairs for 50 workers of one
// process that share one client: goroutines one zk-cohort or Mutex, Java threads
// one instance of Curator's InterProcessMutex.
//
//	go test -run '^$' -bench ZooKeeperShared -benchtime 1x ./peers
func BenchmarkZooKeeperShared(b *testing.B) {
	pairing{"50", "zk-cohort,zk-handoff,curator-mutex-shared", "curator-mutex-shared", true}.run(b)
}

// A pairing is which locks are set beside each other.
type pairing struct {
	workers, locks, base string // lists with commas
	shared               bool   // all workers have one client
}

func (p pairing) run(b *testing.B) {
	server, err := backend.StartEnsemble(b.Context(), *pairServers)
	if err != nil {
		fmt.Fprintln(os.Stderr, b.Name()+":", err) // a skipped benchmark says nothing
		unavailable(b, harness.KindZooKeeper, err)
	}
	defer server.Stop()
	at := server.Endpoint()
	at.SessionTimeout = 30 * time.Second
	locks, absent := contestants(b, p.locks)
	defer keepJava(b, at)()
	warm := false
	for _, word := range strings.Split(p.workers, ",") {
		n, err := strconv.Atoi(word)
		if err != nil || n < 1 {
			b.Fatalf("-pairs.workers=%s: want numbers above 0, such as 1,8,50", p.workers)
		}
		var report string
		b.Run(fmt.Sprintf("servers=%d/workers=%d", len(at.Addrs[0]), n), func(b *testing.B) {
			m := match{at: at, locks: locks, base: p.base, absent: absent, cell: cell{workers: n, hold: *pairHold, shared: p.shared, servers: server.PIDs()}}
			if !warm {
				m.warmUp(b)
				warm = true
			}
			for round := range *pairRounds {
				m.round(b, round)
			}
			b.ReportMetric(0, "ns/op") // says nothing
			report = m.report(b)
		})
		fmt.Print(report) // b.Log would cut it after ten lines
	}
}

// unavailable skips tb, or fails it if LOCKLAB_REQUIRE names what is missing.
func unavailable(tb testing.TB, what string, err error) {
	tb.Helper()
	if errors.Is(err, harness.ErrUnavailable) && !backend.Required(what) {
		tb.Skip(err)
	}
	tb.Fatal(err)
}

// contestants returns the locks of these names that can run, and a line for
// each of the others.
func contestants(b *testing.B, names string) (locks []*harness.Variant, absent string) {
	for _, name := range strings.Split(names, ",") {
		v := variant(name)
		switch {
		case v == nil:
			absent += fmt.Sprintf("\nwithout %s: there is no such lock", name)
		case v.Unavailable != "":
			if backend.Required("java") {
				b.Fatalf("%s: %s", v.Name, v.Unavailable)
			}
			absent += fmt.Sprintf("\nwithout %s: %s", name, v.Unavailable)
		default:
			locks = append(locks, v)
		}
	}
	return locks, absent
}

// A match is the cells of some locks with equal settings.
type match struct {
	at     harness.Endpoint
	locks  []*harness.Variant
	base   string // names, with commas: with which the others are compared
	absent string // lines about those that cannot run
	cell   cell
	all    [][]outcome // by round, then by lock
	failed []string    // cells that were repeated, and why
}

// keepJava holds Curator's process, if there is one to be had, until the
// returned function is called: what its compiler has learned is not to be lost
// between cells.
func keepJava(b *testing.B, at harness.Endpoint) (release func()) {
	v := variant("curator-mutex")
	if v.Unavailable != "" {
		return func() {}
	}
	r, err := v.Remote(b.Context(), at, newKey())
	if err != nil {
		b.Fatal(err)
	}
	return func() { r.Close() }
}

// warmUp gives the compilers of Java, the servers' and Curator's, something to
// compile; nothing is kept.
func (m *match) warmUp(b *testing.B) {
	w := *m
	w.cell.workers = 8
	for i := range *pairWarmUp {
		w.round(b, i)
	}
}

// round lets every lock run once, in random order. A round in which a cell fails
// is repeated, all of it, so that locks are compared in the same minute: on a
// machine that is too busy an ensemble may lose its leader for longer than a
// cell lasts. How often is reported; a lock that was held twice is not a failed
// cell but the end.
func (m *match) round(b *testing.B, round int) {
	const most = 5
	for {
		out, err := m.tryRound(b.Context(), round)
		switch {
		case err == nil:
			m.all = append(m.all, out)
			return
		case errors.Is(err, errBroken) || b.Context().Err() != nil:
			b.Fatal(err)
		}
		m.failed = append(m.failed, fmt.Sprintf("round %d: %v", round+1, err))
		if len(m.failed) > most {
			b.Fatalf("%d rounds have failed: is the machine too busy? They were\n%s", len(m.failed), strings.Join(m.failed, "\n"))
		}
	}
}

func (m *match) tryRound(ctx context.Context, round int) ([]outcome, error) {
	out := make([]outcome, len(m.locks))
	rng := rand.New(rand.NewPCG(uint64(round), uint64(m.cell.workers)))
	for _, i := range rng.Perm(len(m.locks)) {
		o, err := m.cell.run(ctx, m.locks[i], m.at)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", m.locks[i].Name, err)
		}
		out[i] = o
	}
	return out, nil
}

// errBroken is a lock that was no lock.
var errBroken = errors.New("held by two")

// An outcome is the figures of one cell.
type outcome struct {
	rate     float64 // acquisitions per second
	p50, p99 float64 // ms from asking to having
	jain     float64 // percent
	requests float64 // per acquisition
	notices  float64 // messages of the servers that answer no request, per acquisition
	server   float64 // µs of CPU time of the servers per acquisition, of all of them together
}

// figures are the columns of the report.
var figures = []struct {
	title, unit string
	of          func(outcome) float64
}{
	{"acq/s", "acq/s", func(o outcome) float64 { return o.rate }},
	{"p50 ms", "", func(o outcome) float64 { return o.p50 }},
	{"p99 ms", "", func(o outcome) float64 { return o.p99 }},
	{"Jain %", "", func(o outcome) float64 { return o.jain }},
	{"reqs/op", "reqs/op", func(o outcome) float64 { return o.requests }},
	{"notifs/op", "", func(o outcome) float64 { return o.notices }},
	{"server us/op", "", func(o outcome) float64 { return o.server }},
}

// report reports what a comparison of runs wants and returns the whole table,
// as comments between benchmark lines.
func (m *match) report(b *testing.B) string {
	var t strings.Builder
	fmt.Fprintf(&t, "%d workers, %d servers: medians of %d rounds of %v [95 %% interval, the extremes if there are fewer than 6 rounds]\n%-20s", m.cell.workers, len(m.at.Addrs[0]), len(m.all), *pairWindow, "lock")
	for _, f := range figures {
		fmt.Fprintf(&t, "  %-28s", f.title)
	}
	for i, v := range m.locks {
		fmt.Fprintf(&t, "\n%-20s", v.Name)
		for _, f := range figures {
			s := m.over(func(round []outcome) float64 { return f.of(round[i]) })
			fmt.Fprintf(&t, "  %-28s", text(s))
			if f.unit != "" {
				b.ReportMetric(s.Median, v.Name+"-"+f.unit)
			}
		}
	}
	for _, base := range strings.Split(m.base, ",") {
		j := slices.IndexFunc(m.locks, func(v *harness.Variant) bool { return v.Name == base })
		for i, v := range m.locks {
			if j < 0 || i == j {
				continue
			}
			s := m.over(func(round []outcome) float64 { return round[i].rate / round[j].rate })
			fmt.Fprintf(&t, "\n%s does %s times as much as %s", v.Name, text(s), base)
			b.ReportMetric(s.Median, v.Name+":"+base)
		}
	}
	for _, why := range m.failed {
		fmt.Fprintf(&t, "\nrepeated: %s", why)
	}
	return "# " + strings.ReplaceAll(t.String()+m.absent, "\n", "\n# ") + "\n"
}

// over summarises one figure of all rounds.
func (m *match) over(of func(round []outcome) float64) stat.Summary {
	var xs []float64
	for _, round := range m.all {
		xs = append(xs, of(round))
	}
	return stat.Summarize(xs)
}

func text(s stat.Summary) string { return fmt.Sprintf("%.4g [%.4g .. %.4g]", s.Median, s.Lo, s.Hi) }

// A meter reads what the servers count, at the edges of a window.
type meter struct {
	at    harness.Endpoint
	base  time.Time
	pids  []int
	times []int64 // of the readings, ns since base
	seen  []harness.Counts
	spent []time.Duration // of CPU
	err   error
}

func (m *meter) read() {
	before := time.Since(m.base)
	n, err := served(context.Background(), m.at)
	m.times = append(m.times, int64(before+time.Since(m.base))/2)
	m.seen, m.err = append(m.seen, n), cmp.Or(m.err, err)
	m.spent = append(m.spent, processTime(m.pids))
}

// perTurn sets what the servers did between the two readings by the number of
// acquisitions between them, which on a busy machine is not quite the window.
func (m *meter) perTurn(log *peers.CellLog, o *outcome) error {
	if m.err != nil || len(m.seen) != 2 {
		return cmp.Or(m.err, fmt.Errorf("the servers were read %d times, want 2", len(m.seen)))
	}
	var n float64
	for _, h := range log.Holds {
		if h.Acquired >= m.times[0] && h.Acquired < m.times[1] {
			n++
		}
	}
	d := m.seen[1].Sub(m.seen[0])
	o.requests, o.notices = float64(d.Requests)/n, float64(d.Notifications)/n
	o.server = float64((m.spent[1] - m.spent[0]).Microseconds()) / n
	return nil
}

// judge turns a log into figures. A log with an overlap is an error.
func judge(log *peers.CellLog, workers int) (outcome, error) {
	if bad := oracle.Overlaps(log.Holds, 1); len(bad) > 0 {
		return outcome{}, fmt.Errorf("%w: %s broken %d times: %s", errBroken, bad[0].Rule, bad[0].Count, bad[0].Detail)
	}
	var wait recorder.Histogram
	shares := make([]float64, workers)
	for _, h := range log.Holds {
		if h.Acquired >= log.Open && h.Acquired < log.Close {
			wait.Record(h.Acquired - h.Requested)
			shares[h.Worker]++
		}
	}
	times := wait.Snapshot()
	n := float64(times.Count())
	if n == 0 {
		return outcome{}, errors.New("no worker got the lock in the window")
	}
	var squares float64
	for _, x := range shares {
		squares += x * x
	}
	return outcome{
		rate: n / time.Duration(log.Close-log.Open).Seconds(),
		p50:  times.Quantile(0.5) / 1e6,
		p99:  times.Quantile(0.99) / 1e6,
		jain: 100 * n * n / (float64(workers) * squares),
	}, nil
}

// cellWarmup is for the queue to form.
const cellWarmup = 500 * time.Millisecond

// A cell is how a lock is driven.
type cell struct {
	workers int
	hold    time.Duration
	shared  bool  // one client for all workers, not one each
	servers []int // process ids
}

// run measures v once.
func (c cell) run(ctx context.Context, v *harness.Variant, at harness.Endpoint) (outcome, error) {
	base := time.Now()
	m := meter{at: at, base: base, pids: c.servers}
	drive := c.loop
	if recipe, mode, ok := curatorCell(v.Name); ok {
		drive = func(ctx context.Context, _ *harness.Variant, at harness.Endpoint, key string, base time.Time, edge func()) (*peers.CellLog, error) {
			return peers.MeasureCurator(ctx, at, key, peers.CuratorCell{
				Recipe: recipe, Mode: mode, Workers: c.workers, Warmup: cellWarmup, Window: *pairWindow, Hold: c.hold}, base, edge)
		}
	}
	log, err := drive(ctx, v, at, newKey(), base, m.read)
	if err != nil {
		return outcome{}, err
	}
	o, err := judge(log, c.workers)
	if err == nil {
		err = m.perTurn(log, &o)
	}
	return o, err
}

// curatorCell says how the Java process does on its own what the variant does.
func curatorCell(name string) (recipe, mode string, ok bool) {
	switch name {
	case "curator-mutex":
		return "mutex", "session", true
	case "curator-mutex-shared":
		return "mutex", "instance", true
	case "curator-semaphore-mutex":
		return "semaphore", "session", true
	case "curator-rw":
		return "rw", "session", true
	}
	return "", "", false
}
