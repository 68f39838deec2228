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

	"locklab/harness"
	"locklab/harness/metric"
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
func summary(cells []redisCell, of func(redisCell) float64) metric.Summary {
	xs := make([]float64, len(cells))
	for i, c := range cells {
		xs[i] = of(c)
	}
	return metric.Summarize(xs)
}

// A redisLine compares redis-queue with one rival, by ratios of redis-queue to
// the rival.
type redisLine struct {
	rival           redisRival
	rate, p99, wait metric.Comparison
	broken          int // rounds that cannot be compared
	queue, peer     []redisCell
}

// compareRedis compares the pairs in which nobody broke a promise.
func compareRedis(rival redisRival, pairs []redisPair) redisLine {
	l := redisLine{rival: rival}
	for _, p := range pairs {
		if len(p.queue.Violations)+len(p.peer.Violations) > 0 {
			l.broken++
			continue
		}
		l.queue, l.peer = append(l.queue, p.queue), append(l.peer, p.peer)
	}
	ratio := func(of func(redisCell) float64) metric.Comparison {
		var a, b []float64
		for i := range l.queue {
			a, b = append(a, of(l.queue[i])), append(b, of(l.peer[i]))
		}
		return metric.Compare(a, b, claimLevel)
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
	ping := metric.Summarize(m.pings)
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
	rate := worst(lines, func(l redisLine) (float64, int) { return -l.rate.Lo, l.rate.N })
	late := worst(lines, func(l redisLine) (float64, int) { return l.p99.Hi, l.p99.N })
	wait := worst(lines, func(l redisLine) (float64, int) { return l.wait.Hi, l.wait.N })
	jain := summary(queue, result(metric.Jain, 1))
	fmt.Fprint(out,
		claim("hand-overs/s at least 1.5 times those of every peer", rate.rival.String(), rate.rate.Median, rate.rate.Lo, claimedRate),
		claim("p99 of the waits before hand-overs at most a third of every peer's", wait.rival.String(), -wait.wait.Median, -wait.wait.Hi, -claimedP99),
		claim("p99 of all waits at most a third of every peer's", late.rival.String(), -late.p99.Median, -late.p99.Hi, -claimedP99),
		claim("Jain's index at least 99.9 %", "itself", jain.Median, jain.Lo, claimedJain))
	fmt.Fprintf(out, "  its p99 is %.0f bare round trips, with %d workers in line\n", summary(queue, result(metric.P99, 1)).Median/ping, m.workers)
	b.ReportMetric(rate.rate.Median, "least-rate-ratio:"+group)
	b.ReportMetric(wait.wait.Median, "greatest-wait-p99-ratio:"+group)
	b.ReportMetric(late.p99.Median, "greatest-p99-ratio:"+group)
	b.ReportMetric(jain.Median, metric.Jain.Unit+":"+group)
}

func ratioText(c metric.Comparison) string {
	if c.N == 0 {
		return "no round"
	}
	return fmt.Sprintf("%.3g [%.3g .. %.3g]", c.Median, c.Lo, c.Hi)
}

// worst returns the line for which bad is greatest. Lines without a round do
// not count.
func worst(lines []redisLine, bad func(redisLine) (value float64, rounds int)) (out redisLine) {
	greatest := math.Inf(-1)
	out.rival.lock = new(harness.Variant) // if there is none
	for _, l := range lines {
		if value, rounds := bad(l); rounds > 0 && value > greatest {
			out, greatest = l, value
		}
	}
	return out
}

// claim says whether median and the bound of its interval are at least want.
func claim(what, where string, median, bound, want float64) string {
	verdict := "does not hold"
	switch {
	case bound >= want:
		verdict = "holds"
	case median >= want:
		verdict = "holds by the median, not beyond doubt"
	}
	return fmt.Sprintf("  %s: %s (%.4g, bound %.4g, beside %s)\n", what, verdict, math.Abs(median), math.Abs(bound), where)
}
