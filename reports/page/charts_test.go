package page

import (
	"errors"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"locklab/harness"
	"locklab/harness/result"
	"locklab/internal/numfmt"
	"locklab/internal/synthetic"
	"locklab/reports/chart"
)

// gallery returns a small synthetic run with some settings of otherSettings. With all of them
// every chart of the Suite has data.
func gallery(rounds int, settings ...string) *result.Run {
	falling := func(from float64) func(int) float64 {
		return func(w int) float64 { return from / math.Sqrt(float64(w)) }
	}
	locals := []synthetic.Model{
		{Lock: synthetic.Local("fair", harness.Spin, harness.Correct), Rate: falling(2e6), Handed: 1, Noise: 0.02},
		{Lock: synthetic.Local("greedy", harness.Spin, harness.Correct), Rate: falling(6e6), Skew: 3, Handed: 0.02, Noise: 0.02},
		{Lock: synthetic.Local("parking", harness.Blocking, harness.Correct), Rate: falling(3e6), Skew: 0.6, Handed: 0.3, Noise: 0.02},
		{Lock: synthetic.Local("old", harness.Blocking, harness.Correct), Rate: falling(1.5e6), Skew: 0.6, Handed: 0.3, Noise: 0.02},
		{Lock: synthetic.Local("nothing", harness.Blocking, harness.Control), Rate: synthetic.Constant(400e6), Noise: 0.001},
	}
	servers := []synthetic.Model{
		{Lock: synthetic.Served("herd", harness.ZooKeeper, harness.KindZooKeeper), Rate: falling(9e3), Handed: 1, Noise: 0.02},
		{Lock: synthetic.Served("queue", harness.ZooKeeper, harness.KindZooKeeper), Rate: falling(7e3), Handed: 1, Noise: 0.02},
		{Lock: synthetic.Served("poll", harness.Redis, harness.KindRedis), Rate: falling(4e4), Skew: 2, Handed: 0.1, Noise: 0.02},
	}
	servers[1].Lock.Traits.FIFO = true
	base := synthetic.Run(5, rounds, 2, []int{1, 2, 8}, append(locals, servers...)...)
	for _, r := range base.Results {
		if r.Unserved = time.Duration(3 * r.Wait.Quantile(1)); r.Lock.Name == "herd" {
			r.Wire = &harness.Counts{Requests: r.Ops * uint64(r.Workload.Workers), Notifications: r.Ops * uint64(r.Workload.Workers)}
		}
	}
	run := *base
	for _, name := range settings {
		if name == openLoops {
			run.Results = append(run.Results, openLoopResults(base)...)
			continue
		}
		run.Results = append(run.Results, varyResults(base, otherSettings[name], 0.5)...)
	}
	run.Findings = hardwareFindings().Findings
	return &run
}

const openLoops = "open"

// openLoopResults returns base with eight workers as open loops, too fast for some locks.
func openLoopResults(base *result.Run) (out []*result.Result) {
	for _, r := range base.Results {
		if r.Workload.Workers != 8 || r.Lock.Status == harness.Control {
			continue
		}
		rates := []harness.Rate{100e3, 500e3, 1e6, 2e6}
		if r.Lock.Traits.Needs != "" {
			rates = []harness.Rate{500, 1e3, 2e3, 5e3}
		}
		if r.Lock.Name == "old" { // each lock may have its own rates
			rates = rates[:3]
		}
		for _, rate := range rates {
			out = append(out, openLoop(r, rate))
		}
	}
	return out
}

var everySetting = []string{"hold", "pinning", openLoops}

// TestSuite: every chart is complete. Of the gallery it has a picture and a table, whose
// columns link to their metrics.
func TestSuite(t *testing.T) {
	gs := chart.Groups(gallery(8, everySetting...))
	seen := make(map[string]bool)
	for _, c := range chart.Suite {
		if !chart.NameRE.MatchString(c.Name) || seen[c.Name] || !strings.HasSuffix(c.Title, "?") || c.Doc == "" || c.Draw == nil {
			t.Fatalf("chart %q is incomplete, or its name is taken", c.Name)
		}
		seen[c.Name] = true
		pic := c.Drawn(chart.Anchored(gs, c.Remote))
		if pic.Height == 0 || len(pic.Numbers.Rows) == 0 || len(pic.Numbers.Head) == 0 {
			t.Errorf("chart %s lacks a picture or a table: %s", c.Name, pic.Answer)
		}
		for _, h := range pic.Numbers.Head {
			for _, m := range result.Metrics {
				if named := h.Text == m.Name || h.Text == m.Unit; named && h.Metric != m {
					t.Errorf("chart %s: the column %s does not link to that metric", c.Name, h.Text)
				}
			}
		}
	}
}

// TestGuards: a chart that would show nothing is in no page, and each page names it with the reason,
// and has the table of the locks.
func TestGuards(t *testing.T) {
	some := synthetic.Run(1, 3, 2, []int{1, 2, 8}, synthetic.Fast("a", 1e6), synthetic.Fast("b", 3e6), synthetic.Fast("c", 9e6))
	some.Results = slices.DeleteFunc(some.Results, func(r *result.Result) bool { return r.Lock.Name != "a" && r.Workload.Workers != 8 })
	loads := gallery(3, openLoops)
	loads.Results = slices.DeleteFunc(loads.Results, func(r *result.Result) bool { return r.Open != nil && r.Workload.Rate != 500 })
	matrix := &result.Run{Findings: []*result.Finding{{Name: "m", Tables: []result.Table{{Chart: result.Heat, Columns: []result.Column{{Name: "0", Plot: true}, {Name: "1", Plot: true}},
		Rows: []result.Row{{Cells: []result.Cell{{}, {Median: 5, N: 1}}}, {Cells: []result.Cell{{Median: 6, N: 1}, {}}}}}}}}}
	for _, c := range []struct {
		run  *result.Run
		want string
	}{
		{synthetic.Run(1, 3, 2, []int{1, 2, 8}, synthetic.Fast("a", 1e6)), "ranking (only 1 lock), wait (only 1 lock)."},
		{synthetic.Run(1, 3, 2, []int{8}, synthetic.Fast("a", 1e6), synthetic.Fast("b", 3e6)), "throughput (one point in 2 of 2 panels), fairness (one point in 2 of 2 panels)."},
		{some, "throughput (one point in 2 of 3 panels), fairness (one point in 2 of 3 panels)."},
		{synthetic.Run(1, 3, 2, []int{2, 8}, synthetic.Fast("a", 1e6), synthetic.Fast("b", 3e6)), "fairness (2 equal panels)."},
		{loads, "load-distributed (one point in 3 of 3 panels)."},
		{matrix, "m (only 2 cells)."},
	} {
		line := "Charts left out, because they would show nothing: " + c.want
		for form, text := range map[string]string{"page": htmlOf(t, Report(c.run)), "brief page": htmlOf(t, Brief(c.run, "details.html")), "Markdown": formsOf(t, Report(c.run))["Markdown"]} {
			if !strings.Contains(text, line) || len(c.run.Results) > 0 && !strings.Contains(text, " as a ratio to ") {
				t.Errorf("the %s lacks %q, or a table", form, line)
			}
		}
		for _, p := range Posters(c.run) {
			if strings.Contains(c.want, p.Name+" (") {
				t.Errorf("%s is drawn, and left out: %s", p.Name, c.want)
			}
		}
	}
}

func TestOrderOfInput(t *testing.T) {
	run := gallery(6, everySetting...)
	before := charts(t, run)
	rng := rand.New(rand.NewPCG(1, 1))
	rng.Shuffle(len(run.Results), func(i, k int) { run.Results[i], run.Results[k] = run.Results[k], run.Results[i] })
	for name, after := range charts(t, run) {
		if before[name] != after {
			t.Errorf("chart %s changes with the order of the results %s", name, firstDifference([]byte(after), []byte(before[name])))
		}
	}
}

func charts(t *testing.T, run *result.Run) map[string]string {
	t.Helper()
	out := make(map[string]string)
	for _, p := range Posters(run) {
		out[p.Name] = writtenBy(t, func(w io.Writer) error { return writeSVG(w, p) })
	}
	return out
}

func TestSaturations(t *testing.T) {
	// The queues serve 707 k/s (fair), 2.1 M/s (greedy), 1.06 M/s (parking) and 530 k/s (old).
	run := gallery(3, openLoops)
	for _, r := range run.Results {
		if r.Open != nil && r.Lock.Name == "parking" {
			r.Wait = result.Histogram{{Value: 1000, N: 90}} // too few for p99
		}
	}
	g := chart.Anchored(chart.Groups(run), false)
	s := g.Loads()
	want := map[string]harness.Rate{"fair": 500e3, "greedy": 1e6, "old": 100e3}
	for _, l := range s.Locks {
		rate, known := want[l.S.Lock.Name]
		if l.HasSaturation != known || known && (l.Saturation.UpTo != rate || !(l.Saturation.From > 0 && l.Saturation.From <= rate && l.Saturation.Over > rate)) {
			t.Errorf("the saturation point of %s is %+v, %v; want %v", l.S.Lock.Name, l.Saturation, l.HasSaturation, rate)
		}
	}
	if got := chart.LoadLocal.Draw(g).Answer; !strings.HasPrefix(got, "greedy has the highest saturation point: 1M/s [") || !strings.Contains(got, "old has the lowest: 100k/s [") || !strings.Contains(got, " 1 of 4 locks has too few timed waits for") {
		t.Errorf("the answer is %q", got)
	}
	for _, to := range []harness.Rate{0, 2e6} { // beyond all rates, and beyond the rate of greedy
		for _, l := range s.Locks {
			if l.S.Lock.Name == "old" {
				l.Saturation.To = to
			}
		}
		if got := s.Answer(); !strings.HasPrefix(got, "The saturation points do not differ significantly: greedy has it at 1M/s [") {
			t.Errorf("the answer is %q", got)
		}
	}
	for _, l := range s.Locks {
		if l.Saturation.From = 5e6; l.S.Lock.Name == "fair" {
			l.Saturation.UpTo = 1e6
		}
	}
	if got := s.Answer(); !strings.HasPrefix(got, "fair has the highest saturation point, the same as greedy: ") {
		t.Errorf("the answer is %q", got)
	}
	if got := chart.LoadLocal.Draw(chart.Anchored(chart.Groups(gallery(1, openLoops)), false)).Answer; !strings.HasPrefix(got, "The saturation points do not differ significantly: greedy has it at ") {
		t.Errorf("after one round the answer is %q", got)
	}
}

func TestOpenLoopsRankNothing(t *testing.T) {
	run := gallery(8, openLoops)
	plain := gallery(8)
	for _, c := range []*chart.Chart{chart.RankingLocal, chart.ThroughputLocal, chart.JainLocal, chart.HandoversRemote} {
		got, want := c.Subject(chart.Groups(run)), c.Subject(chart.Groups(plain))
		if got.Open() || got.Axes != want.Axes || c.Drawn(got).Answer != c.Drawn(want).Answer {
			t.Errorf("%s: open loops change the answer to %q, it was %q", c.Name, c.Drawn(got).Answer, c.Drawn(want).Answer)
		}
	}
	only := new(result.Run)
	for _, r := range gallery(3, openLoops).Results {
		if r.Open != nil {
			only.Results = append(only.Results, r)
		}
	}
	names := result.Each(composeFigures(only), func(f figure) string { return f.Name })
	if want := []string{chart.LoadLocal.Name, chart.LoadRemote.Name}; !slices.Equal(names, want) {
		t.Errorf("a run of open loops has the charts %q, want %q", names, want)
	}
}

func composeFigures(run *result.Run) []figure {
	return slices.Concat(result.Each(compose(run).Sections, func(s section) []figure { return s.Figures })...)
}

// TestLoadsUnderConditions: of several sets of conditions the one with the most rates is drawn,
// with its conditions next to the chart.
func TestLoadsUnderConditions(t *testing.T) {
	run := gallery(3, openLoops)
	for _, r := range slices.Clone(run.Results) {
		if r.Open != nil && r.Lock.Traits.Needs != "" && r.Workload.Rate > 500 {
			far := *r
			far.Workload.Servers, far.Workload.Durable = 3, true
			run.Results = append(run.Results, &far)
		}
	}
	var docs []string
	for _, f := range composeFigures(run) {
		if f.Name == chart.LoadRemote.Name {
			docs = append(docs, f.Doc)
		}
	}
	if len(docs) != 1 || !strings.HasSuffix(docs[0], " Workload: 8 workers, hold=100ns.") {
		t.Errorf("the charts of open loops are described by %q", docs)
	}
}

func contendedRun(asked ...int) *result.Run {
	wrong := synthetic.Queue("wrong") // 20 times slower with 1000
	wrong.Period = func(n float64) time.Duration { return 300*time.Microsecond + time.Duration(5*max(0, n-100)*n) }
	run := synthetic.Contenders(3, []int{1, 5, 10, 20, 50, 100, 300, 1000}, synthetic.Queue("queue"), synthetic.Herd("herd"), synthetic.Polling("poll"), wrong)
	run.Contenders = asked
	return run
}

// delayedRun returns a run of a queue, a polling lock and one without trips, near and with
// delays. The queue takes a round trip and 30 µs for a grant and for a handover.
func delayedRun(delays ...time.Duration) *result.Run {
	inOrder := func(m *synthetic.Model) { m.Lock.Traits.FIFO = true }
	base := synthetic.Run(3, 7, 2, []int{1, 8}, remoteModel("poll", 5000, removeNoise), remoteModel("queue", 5000, removeNoise, inOrder), remoteModel("strange", 5000, removeNoise))
	one := result.Leg{Halves: 2, Requests: 1}
	trips := map[string]*result.Trips{
		"queue": {Lock: one, Unlock: one, Behind: &result.TripsBehind{Queue: result.Leg{Halves: 1, Requests: 2}, Handover: one, Unlock: one, Requests: 3}},
		"poll":  {Lock: one, Unlock: one, Behind: &result.TripsBehind{Polls: true}},
	}
	run := *base
	run.Results = nil
	for _, delay := range append([]time.Duration{0}, delays...) {
		for _, r := range base.Results {
			c := *r
			c.Trips, c.Workload.Hold, c.Workload.Delay, c.RoundTrip = trips[r.Lock.Name], harness.Span{}, delay, 20e3+float64(delay)
			takes := int64(c.RoundTrip) + 30e3
			c.Wait = result.Histogram{{Value: takes, N: 1000}}
			if c.Workload.Workers > 1 {
				c.Wait[0].Value *= 7
				c.Handover = result.Histogram{{Value: takes, N: 1000}}
				c.Elapsed = time.Duration(takes * int64(c.Handovers))
			}
			run.Results = append(run.Results, &c)
		}
	}
	return &run
}

// TestCannotPredict: a run that lacks the input of a prediction gets the reason, and no section.
func TestCannotPredict(t *testing.T) {
	local, old, delayed := synthetic.Run(1, 2, 2, []int{1, 100}, synthetic.Fast("tas", 1e6)), delayedRun(), delayedRun()
	few, far := synthetic.Contenders(2, []int{1, 4, 8}, synthetic.Queue("queue")), contendedRun()
	for _, r := range old.Results {
		r.Trips = nil
	}
	for _, r := range append(slices.Clone(delayed.Results), far.Results...) {
		r.Workload.Delay = time.Millisecond
	}
	for _, c := range []struct {
		check         func(*result.Run) error
		run           *result.Run
		want, section string
	}{
		{CanPredict, local, "a distributed lock", "what distance costs"},
		{CanPredict, old, "earlier version", "what distance costs"},
		{CanPredict, delayed, "without a delay", "what distance costs"},
		{chart.CanExtrapolate, local, "the run has none", "many contenders"},
		{chart.CanExtrapolate, few, "--workers 5,10,20,50,500", "many contenders"},
		{chart.CanExtrapolate, far, "in a closed loop without a d", "many contenders"},
	} {
		if err := c.check(c.run); !errors.Is(err, harness.ErrUsage) || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("got %v, want a line with %q", err, c.want)
		}
		c.run.RoundTrips = []time.Duration{time.Millisecond}
		for name, text := range formsOf(t, Report(c.run)) {
			if strings.Contains(text, c.section) {
				t.Errorf("%s: the %s has the section", c.want, name)
			}
		}
	}
	if err := errors.Join(chart.CanExtrapolate(contendedRun()), CanPredict(delayedRun())); err != nil {
		t.Error(err)
	}
	if text := textOf(t, Report(contendedRun())); strings.Contains(text, chart.ContendersTitle) {
		t.Errorf("nothing was asked for, and the terminal has predictions:\n%s", text)
	}
}

func breakPromise(m *synthetic.Model) { m.Breaks = true }
func removeNoise(m *synthetic.Model)  { m.Noise = 0 }
func asPeer(m *synthetic.Model)       { m.Lock.Family = harness.Peer }

func withStatus(s harness.Status) func(*synthetic.Model) {
	return func(m *synthetic.Model) { m.Lock.Status = s }
}

func remoteModel(name string, rate float64, edits ...func(*synthetic.Model)) synthetic.Model {
	m := synthetic.Model{Lock: synthetic.Served(name, harness.Redis, harness.KindRedis), Rate: synthetic.Constant(rate), Handed: 1, Noise: 0.01}
	return synthetic.With(m, edits...)
}

func rankedRun(rounds int) *result.Run {
	return synthetic.Run(3, rounds, 2, []int{1, 2, 8},
		blockingModel("delta", 2e6), blockingModel("sync-mutex", 3e6), blockingModel("alpha", 1e6), blockingModel("gamma", 4e6), blockingModel("beta", 5e6),
		synthetic.With(blockingModel("epsilon", 6e6), withStatus(harness.Historical)),
		synthetic.With(synthetic.Fast("empty", 9e9), withStatus(harness.Control)),
		synthetic.With(synthetic.Fast("breaker", 8e6), breakPromise),
		remoteModel("queue", 3000), remoteModel("poll", 1000), remoteModel("redsync", 2000, asPeer), remoteModel("rueidis", 1500, asPeer), remoteModel("lost", 4000),
	)
}

// TestRanking: rows are sorted by median, every lock of the kind has one, and the chosen lock,
// the default and the best peer have marks.
func TestRanking(t *testing.T) {
	run, odd := rankedRun(20), rankedRun(20)
	for _, r := range odd.Results {
		if r.Lock.Name == "alpha" && r.Round < 3 { // its mean is the greatest, and its interval is wide
			r.Ops, r.Handovers = 100*r.Ops, 100*r.Handovers
			for i := range r.Workers {
				r.Workers[i] *= 100
			}
		}
	}
	for _, c := range []struct {
		run   *result.Run
		chart *chart.Chart
		want  []string
	}{
		{run, chart.RankingLocal, []string{"epsilon (historical) –", "beta chosen", "gamma –", "sync-mutex default", "delta –", "alpha –"}},
		{odd, chart.RankingLocal, []string{"epsilon (historical) –", "beta chosen", "gamma –", "sync-mutex default", "delta –", "alpha not significantly slower"}},
		{run, chart.RankingRemote, []string{"lost chosen", "queue –", "redsync best peer", "rueidis –", "poll –"}},
	} {
		got := result.Each(c.chart.Drawn(c.chart.Subject(chart.Groups(chart.Sanitize(c.run)))).Numbers.Rows, func(row []string) string { return row[0] + " " + row[len(row)-1] })
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: the locks stand in the order %q, want %q", c.chart.Name, got, c.want)
		}
	}
	if svg := numfmt.Plain(charts(t, run)[chart.RankingLocal.Name]); !strings.Contains(svg, "broke a promise in this run: breaker (exclusion).") {
		t.Error("the chart does not name the lock that broke a promise")
	}
}
