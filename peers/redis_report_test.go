package peers_test

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"testing"
	"text/tabwriter"
	"time"

	"locklab/harness"
	"locklab/harness/metric"
	"locklab/harness/stat"
)

// redisFigures are the columns of BenchmarkRedisPairs.
var redisFigures = []struct {
	head string
	of   func(redisCell) float64
}{
	{"hand-overs/s", result(metric.Handovers, 1)},
	{"acq/s", result(metric.Throughput, 1)},
	{"p50 ms", result(metric.P50, 1e-6)},
	{"p99 ms", result(metric.P99, 1e-6)},
	{"hand-over wait p50 ms", func(c redisCell) float64 { return quantile(c.waits, 0.5) * 1e-6 }},
	{"p99 ms", func(c redisCell) float64 { return waitP99(c) * 1e-6 }},
	{"from another %", func(c redisCell) float64 { return 100 * taken(c) }},
	{"jain %", result(metric.Jain, 1)},
	{"commands", result(metric.Requests, 1)},
	{"pushes", result(metric.Notifications, 1)},
}

// result returns how to read m, NaN where there is no such figure.
func result(m *metric.Metric, scale float64) func(redisCell) float64 {
	return func(c redisCell) float64 {
		if x, ok := m.Of(c.Result); ok {
			return x * scale
		}
		return math.NaN()
	}
}

// taken returns the share of the acquisitions that took the lock from another.
func taken(c redisCell) float64 {
	if c.Ops == 0 {
		return math.NaN()
	}
	return float64(c.Handovers) / float64(c.Ops)
}

// judged returns the lines where the 99th percentile of the peer's waits is one for
// a lock that another worker had, and what there is to say of the rest.
func judged(lines []redisLine) (contended []redisLine, rest string) {
	for _, l := range lines {
		if s := summary(l.peer, taken); s.N == 0 || s.Median >= 0.01 {
			contended = append(contended, l)
		} else {
			rest += fmt.Sprintf("    but for %v, of whose acquisitions only %.2g %% take the lock from another: that p99 is a free lock's\n", l.rival, 100*s.Median)
		}
	}
	return contended, rest
}

func waitP99(c redisCell) float64 { return quantile(c.waits, 0.99) }

// quantile returns the least of the sorted xs that at least a share q does not
// exceed.
func quantile(xs []float64, q float64) float64 {
	if len(xs) == 0 {
		return math.NaN()
	}
	return xs[max(0, int(math.Ceil(q*float64(len(xs))))-1)]
}

// summary returns what the cells say together.
func summary(cells []redisCell, of func(redisCell) float64) stat.Summary {
	xs := make([]float64, len(cells))
	for i, c := range cells {
		xs[i] = of(c)
	}
	return stat.Summarize(xs)
}

// A redisLine compares redis-queue with one rival, by ratios of redis-queue to
// the rival.
type redisLine struct {
	rival           redisRival
	rate, p99, wait stat.Ratio
	broken          int // rounds that cannot be compared
	queue, peer     []redisCell
}

// compareRedis compares the pairs in which none broke a promise.
func compareRedis(rival redisRival, pairs []redisPair) redisLine {
	l := redisLine{rival: rival}
	for _, p := range pairs {
		if len(p.queue.Violations)+len(p.peer.Violations) > 0 {
			l.broken++
			continue
		}
		l.queue, l.peer = append(l.queue, p.queue), append(l.peer, p.peer)
	}
	ratio := func(of func(redisCell) float64) stat.Ratio {
		var a, b []float64
		for i := range l.queue {
			a, b = append(a, of(l.queue[i])), append(b, of(l.peer[i]))
		}
		return stat.Paired(a, b, claimLevel)
	}
	l.rate = ratio(result(metric.Handovers, 1))
	l.p99 = ratio(result(metric.P99, 1))
	l.wait = ratio(waitP99)
	return l
}

// report returns the table and what it says about the claims, and reports the
// least favourable figures to b. Peers of which every worker has its own client
// are judged apart from those that share one.
func (m *redisMatch) report(b *testing.B) string {
	var out strings.Builder
	var lines []redisLine
	for i, pairs := range m.pairs {
		lines = append(lines, compareRedis(m.rivals[i], pairs))
	}
	m.table(&out, lines)
	ping := stat.Summarize(m.pings)
	fmt.Fprintf(&out, "bare round trip %.3g ms [%.3g .. %.3g]\n", ping.Median*1e-6, ping.Lo*1e-6, ping.Hi*1e-6)
	b.ReportMetric(ping.Median, "ping-ns/op")
	for _, clients := range []int{0, 1} {
		group := slices.DeleteFunc(slices.Clone(lines), func(l redisLine) bool { return l.rival.clients != clients })
		if len(group) == 0 {
			continue
		}
		if clients == 0 {
			fmt.Fprintln(&out, "Every worker with its own client:")
		} else {
			fmt.Fprintln(&out, "All workers behind one client:")
		}
		m.claims(&out, b, group, fmt.Sprintf("clients=%d", cmp.Or(clients, m.workers)), ping.Median)
	}
	return out.String()
}

func (m *redisMatch) table(out io.Writer, lines []redisLine) {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(w, "\nlock, %d workers\t", m.workers)
	for _, f := range redisFigures {
		fmt.Fprintf(w, "%s\t", f.head)
	}
	fmt.Fprint(w, "ratio of hand-overs/s\tof p99\tof hand-over wait p99\tbroken rounds\t\n")
	row := func(name string, cells []redisCell) {
		fmt.Fprintf(w, "%s\t", name)
		for _, f := range redisFigures {
			fmt.Fprintf(w, "%s\t", strings.Replace(fmt.Sprintf("%.4g", summary(cells, f.of).Median), "NaN", "-", 1))
		}
	}
	for _, l := range lines {
		row(l.rival.String(), l.peer)
		fmt.Fprintf(w, "%s\t%s\t%s\t%d of %d\t\n", ratioText(l.rate), ratioText(l.p99), ratioText(l.wait), l.broken, *redisRounds)
		row(redisRival{m.queue, l.rival.clients}.String(), l.queue)
		fmt.Fprint(w, "\t\t\t\t\n")
	}
	w.Flush()
}

// claims judges a group of lines by the least favourable of them.
func (m *redisMatch) claims(out io.Writer, b *testing.B, lines []redisLine, group string, ping float64) {
	var queue []redisCell
	for _, l := range lines {
		queue = append(queue, l.queue...)
	}
	jain := summary(queue, result(metric.Jain, 1))
	rate := worst(lines, func(l redisLine) stat.Summary { return l.rate.Summary }, +1)
	wait := worst(lines, func(l redisLine) stat.Summary { return l.wait.Summary }, -1)
	contended, rest := judged(lines)
	late := worst(contended, func(l redisLine) stat.Summary { return l.p99.Summary }, -1)
	fmt.Fprint(out,
		rate.claim("hand-overs/s at least 1.5 times those of every peer", claimedRate),
		wait.claim("p99 of the waits before hand-overs at most a third of every peer's", claimedP99),
		late.claim("p99 of all waits at most a third of every peer's", claimedP99), rest,
		limit{"itself", "itself", jain.Median, jain.Lo, +1}.claim("Jain's index at least 99.9 %", claimedJain))
	p50, p99 := summary(queue, result(metric.P50, 1)).Median/ping, summary(queue, result(metric.P99, 1)).Median/ping
	turn := 1e9 / summary(queue, result(metric.Handovers, 1)).Median / ping
	fmt.Fprintf(out, "  in bare round trips: a turn takes %.1f, its p50 is %.0f, its p99 is %.0f, with %d workers in line\n", turn, p50, p99, m.workers)
	b.ReportMetric(turn, "turn-x-ping:"+group)
	b.ReportMetric(p99, "p99-x-ping:"+group)
	b.ReportMetric(rate.median, "least-rate-ratio:"+group)
	b.ReportMetric(wait.median, "greatest-wait-p99-ratio:"+group)
	b.ReportMetric(late.median, "greatest-p99-ratio:"+group)
	b.ReportMetric(jain.Median, metric.Jain.Unit+":"+group)
}

func ratioText(c stat.Ratio) string {
	if c.N == 0 {
		return "no round"
	}
	return fmt.Sprintf("%.3g [%.3g .. %.3g]", c.Median, c.Lo, c.Hi)
}

// A limit is the least favourable median, and the least favourable end of an
// interval, of some lines: they may be of different peers.
type limit struct {
	medianOf, boundOf string
	median, bound     float64
	better            float64 // +1 if more is better, -1 if less
}

// worst returns the limit of the lines. Those without a round do not count.
func worst(lines []redisLine, of func(redisLine) stat.Summary, better float64) limit {
	out := limit{better: better, median: better * math.Inf(1), bound: better * math.Inf(1)}
	for _, l := range lines {
		s := of(l)
		if s.N == 0 {
			continue
		}
		if s.Median*better < out.median*better {
			out.median, out.medianOf = s.Median, l.rival.String()
		}
		bound := s.Lo
		if better < 0 {
			bound = s.Hi
		}
		if bound*better < out.bound*better {
			out.bound, out.boundOf = bound, l.rival.String()
		}
	}
	return out
}

// claim says whether the limit is as good as want.
func (l limit) claim(what string, want float64) string {
	verdict := "does not hold"
	switch {
	case l.medianOf == "":
		verdict = "cannot be said"
	case l.bound*l.better >= want*l.better:
		verdict = "holds"
	case l.median*l.better >= want*l.better:
		verdict = "holds by the medians, not beyond doubt"
	}
	return fmt.Sprintf("  %s: %s (median %.4g beside %s, bound %.4g beside %s)\n", what, verdict, l.median, l.medianOf, l.bound, l.boundOf)
}

// madeCell returns a cell with so many hand-overs in a second, a wait of 1 ns
// and another one.
func madeCell(handovers uint64, wait float64, broken bool) redisCell {
	c := redisCell{Result: &harness.Result{Elapsed: time.Second, Workers: make([]uint64, 2), Handovers: handovers}, waits: []float64{1, wait}}
	if broken {
		c.Violations = []harness.Violation{{Rule: "stuck", Count: 1}}
	}
	return c
}

// TestRedisReport: rounds with a broken promise are not compared, and a claim
// holds only if the whole interval says so.
func TestRedisReport(t *testing.T) {
	rival := redisRival{lock: &harness.Variant{Name: "peer"}}
	var pairs []redisPair
	for i := range uint64(7) {
		pairs = append(pairs, redisPair{madeCell(200+i, 10, false), madeCell(100, 40, false)})
	}
	pairs = append(pairs, redisPair{madeCell(1, 1e6, false), madeCell(100, 1, true)})
	l := compareRedis(rival, pairs)
	if l.broken != 1 || l.rate.N != 7 || len(l.peer) != 7 {
		t.Errorf("%d rounds are broken and %d compared, want 1 and 7", l.broken, l.rate.N)
	}
	if got := l.rate.Median; got != 2.03 {
		t.Errorf("ratio of hand-overs %v, want 2.03", got)
	}
	if got := l.wait.Median; got != 0.25 {
		t.Errorf("ratio of waits %v, want 0.25", got)
	}
	// The median of fast is the worst, and the lower bound of wild.
	fast := compareRedis(redisRival{lock: &harness.Variant{Name: "fast"}}, []redisPair{{madeCell(100, 1, false), madeCell(100, 1, false)}})
	wild := compareRedis(redisRival{lock: &harness.Variant{Name: "wild"}}, []redisPair{
		{madeCell(50, 1, false), madeCell(100, 1, false)}, {madeCell(300, 1, false), madeCell(100, 1, false)}, {madeCell(300, 1, false), madeCell(100, 1, false)},
	})
	none := compareRedis(redisRival{lock: &harness.Variant{Name: "none"}}, pairs[7:])
	got := worst([]redisLine{l, none, fast, wild}, func(l redisLine) stat.Summary { return l.rate.Summary }, +1)
	if want := (limit{"fast", "wild", 1, 0.5, +1}); got != want {
		t.Errorf("the limit is %+v, want %+v", got, want)
	}
	for _, c := range []struct {
		handovers uint64
		contended int
	}{{0, 0}, {9, 0}, {10, 1}, {1000, 1}} {
		l := redisLine{rival: rival, peer: []redisCell{{Result: &harness.Result{Ops: 1000, Handovers: c.handovers}}}}
		if got, rest := judged([]redisLine{l}); len(got) != c.contended || (rest == "") != (c.contended == 1) {
			t.Errorf("%d hand-overs in 1000 turns: %d lines are judged, and %q", c.handovers, len(got), rest)
		}
	}
	for _, test := range []struct {
		limit   limit
		want    float64
		verdict string
	}{
		{limit{"a", "b", 2, 1.6, +1}, 1.5, ": holds ("},
		{limit{"a", "b", 2, 1.4, +1}, 1.5, "not beyond doubt"},
		{limit{"a", "b", 1.4, 1.3, +1}, 1.5, "does not hold"},
		{limit{"a", "b", 0.2, 0.3, -1}, claimedP99, ": holds ("},
		{limit{"a", "b", 0.2, 0.4, -1}, claimedP99, "not beyond doubt"},
		{limit{"a", "b", 0.4, 0.5, -1}, claimedP99, "does not hold"},
		{limit{"a", "b", math.NaN(), math.NaN(), +1}, 1.5, "does not hold"},
		{worst(nil, nil, +1), 1.5, "cannot be said"},
	} {
		if got := test.limit.claim("x", test.want); !strings.Contains(got, test.verdict) {
			t.Errorf("%+v against %v: %q, want %q", test.limit, test.want, got, test.verdict)
		}
	}
}
