package page

import (
	"bytes"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"locklab/harness"
	"locklab/harness/result"
	"locklab/internal/numfmt"
	"locklab/internal/synthetic"
	"locklab/reports/chart"
)

// vary returns run with extra copies, one for each function. A copy has another workload,
// and rates multiplied by by(lock).
func vary(run *result.Run, set func(w *harness.Workload), by func(lock string) float64) *result.Run {
	out := *run
	for _, r := range run.Results {
		c := *r
		set(&c.Workload)
		f := by(c.Lock.Name)
		c.Ops, c.Handovers = uint64(float64(c.Ops)*f), uint64(float64(c.Handovers)*f)
		out.Results = append(out.Results, &c)
	}
	return &out
}

var otherSettings = map[string]func(w *harness.Workload){
	"pinning":             func(w *harness.Workload) { w.Pin = harness.PinCPU },
	"wait-policy":         func(w *harness.Workload) { w.Wait = harness.WaitYield },
	"garbage":             func(w *harness.Workload) { w.Garbage = true },
	"section":             func(w *harness.Workload) { w.Section = harness.SectionMap },
	"hold":                func(w *harness.Workload) { w.Hold.Mean = 10 * time.Microsecond },
	"think":               func(w *harness.Workload) { w.Think.Mean = time.Microsecond },
	"spread":              func(w *harness.Workload) { w.Locks = 4 },
	"read":                func(w *harness.Workload) { w.Reads = 90 },
	"hold-distributed":    func(w *harness.Workload) { w.Hold.Mean = time.Second },
	"think-distributed":   func(w *harness.Workload) { w.Think.Mean = time.Second },
	"read-distributed":    func(w *harness.Workload) { w.Reads = 50 },
	"clients-distributed": func(w *harness.Workload) { w.Clients = 1 },
	"servers-distributed": func(w *harness.Workload) { w.Servers = 3 },
	"durable-distributed": func(w *harness.Workload) { w.Durable = true },
	"tls-distributed":     func(w *harness.Workload) { w.TLS = true },
	"delay-distributed":   func(w *harness.Workload) { w.Delay = time.Millisecond },
}

// TestEffects: each setting halves one lock's rate, which the chart reports alone.
func TestEffects(t *testing.T) {
	for _, c := range chart.Suite {
		if c.Varies == nil {
			continue
		}
		t.Run(c.Name, func(t *testing.T) {
			set := otherSettings[c.Name]
			if set == nil {
				t.Fatal("this chart has no case here")
			}
			var models []synthetic.Model
			for _, name := range []string{"a", "b", "c", "d"} {
				m := synthetic.Fast(name, 1e6)
				if c.Remote {
					m.Lock = synthetic.Served(name, harness.Redis, harness.KindRedis)
				}
				m.Handed, m.Noise = 0.5, 0.001
				models = append(models, m)
			}
			half := func(lock string) float64 {
				if lock == "c" {
					return 0.5
				}
				return 1
			}
			run := vary(synthetic.Run(1, 10, 2, []int{1, 8}, models...), set, half)
			g := chart.Largest(chart.Groups(run), c.Remote)
			if g == nil {
				t.Fatal("no group")
			}
			pic := c.Draw(g)
			if pic.Height == 0 {
				t.Fatalf("nothing is drawn: %s", pic.Answer)
			}
			got := strings.ReplaceAll(pic.Answer, numfmt.Space, " ")
			for _, want := range []string{"With 8 workers", " on c: ", "Not apart from no effect: 3 of 4 locks"} {
				if !strings.Contains(got, want) {
					t.Errorf("the answer %q lacks %q", got, want)
				}
			}
			if !strings.Contains(got, "50 % of the rate") && !strings.Contains(got, "2 times the rate") {
				t.Errorf("the answer %q does not say that c has half its rate", got)
			}
		})
	}
}

func TestNoEffect(t *testing.T) {
	same := func(string) float64 { return 1 }
	for _, c := range []struct {
		rounds int
		want   string
	}{{10, "no effect is beyond chance"}, {3, "But n = 3: to tell an effect from chance needs 6 rounds"}} {
		run := vary(synthetic.Run(1, c.rounds, 2, []int{1, 8}, synthetic.Fast("a", 1e6)), otherSettings["pinning"], same)
		if got := strings.ReplaceAll(chart.Pinning.Draw(chart.Groups(run)[0]).Answer, numfmt.Space, " "); !strings.Contains(got, c.want) {
			t.Errorf("%d rounds: the answer is %q, want it to have %q", c.rounds, got, c.want)
		}
	}
	one := synthetic.Run(1, 10, 2, []int{1, 8}, synthetic.Fast("a", 1e6))
	if pic := chart.Pinning.Draw(chart.Groups(one)[0]); pic.Height > 0 || !strings.Contains(pic.Answer, "--pin none,cpu") {
		t.Errorf("one value is drawn, or the answer %q does not name the flag", pic.Answer)
	}
	for _, name := range chart.Charts(one) {
		if name == "pinning" {
			t.Error("a run that does not vary the pinning has a chart of it")
		}
	}
}

// TestEffectsAreReadTogether: intervals are wide enough for all locks together.
func TestEffectsAreReadTogether(t *testing.T) {
	var models []synthetic.Model
	for i := range 10 {
		models = append(models, synthetic.Fast(string(rune('a'+i)), 1e6))
	}
	run := vary(synthetic.Run(1, 12, 2, []int{8}, models...), otherSettings["pinning"], func(string) float64 { return 1 })
	s := chart.ByPin.Sweep(chart.Groups(run)[0])
	for _, e := range s.All(8) {
		if e.Level < 1-0.05/10-1e-12 || e.Confidence < e.Level {
			t.Errorf("lock %s has an interval of %v at %v, want one at 99.5 %% or more", e.S.Lock.Name, e.Confidence, e.Level)
		}
	}
}

func TestServedByHandovers(t *testing.T) {
	poll := synthetic.Model{Lock: synthetic.Served("poll", harness.Redis, harness.KindRedis), Rate: synthetic.Constant(5000), Handed: 0.5, Noise: 0.001}
	run := vary(synthetic.Run(1, 10, 2, []int{1, 8}, poll), otherSettings["clients-distributed"], func(string) float64 { return 1 })
	for _, r := range run.Results {
		if r.Workload.Clients == 1 {
			r.Handovers /= 4
		}
	}
	got := strings.ReplaceAll(chart.Clients.Draw(chart.Groups(run)[0]).Answer, numfmt.Space, " ")
	if !strings.Contains(got, "4 times the rate") && !strings.Contains(got, "25 % of the rate") {
		t.Errorf("the answer %q does not say that hand-overs fell to a quarter", got)
	}
}

// TestUnvaried: a dimension with one value has no chart, but a line with the flags.
func TestUnvaried(t *testing.T) {
	var buf bytes.Buffer
	if err := WriteHTML(&buf, synthetic.Run(1, 3, 2, []int{1, 2}, synthetic.Fast("a", 1e6))); err != nil {
		t.Fatal(err)
	}
	page := buf.String()
	if strings.Contains(page, chart.Pinning.Title) || strings.Count(page, "Not varied in this run") != 1 {
		t.Error("the page asks what it has no answer to, or does not say once what was not varied")
	}
	for _, c := range chart.Suite {
		if c.Varies != nil && !c.Remote && !strings.Contains(page, c.Varies.Flag) {
			t.Errorf("the page does not name %s", c.Varies.Flag)
		}
	}
}

func TestCrossing(t *testing.T) {
	for _, c := range []struct {
		ws    []int
		over  []float64
		at    float64
		index int
	}{
		{[]int{1, 2, 4, 8}, []float64{-1, -1, 1, 5}, 3, 2},
		{[]int{2, 10}, []float64{-2, 6}, 4, 1},
		{[]int{1, 2, 4}, []float64{1, -1, 3}, 2.5, 2}, // for good
		{[]int{1, 2}, []float64{1, 2}, 0, 0},
		{[]int{1, 2}, []float64{1, 0}, 0, -1},
		{nil, nil, 0, -1},
	} {
		if at, i := chart.Crossing(c.ws, c.over); math.Abs(at-c.at) > 1e-9 || i != c.index {
			t.Errorf("crossing(%v, %v) = %v, %d, want %v, %d", c.ws, c.over, at, i, c.at, c.index)
		}
	}
}

// TestHerd: a queue with three requests and a herd with one more per worker cross between
// three and four; the answer depends on the measured numbers.
func TestHerd(t *testing.T) {
	queue := synthetic.Model{Lock: synthetic.Served("queue", harness.ZooKeeper, harness.KindZooKeeper), Rate: synthetic.Constant(500), Handed: 1}
	queue.Lock.Traits.FIFO = true
	herd := queue
	herd.Lock.Name = "herd"
	measure := func(workers []int, noisy bool) *result.Run {
		run := synthetic.Run(1, 6, 2, workers, queue, herd)
		for _, r := range run.Results {
			n := uint64(r.Workload.Workers)
			*r.Wire = harness.Counts{Requests: 5 * r.Ops, Notifications: r.Ops}
			if r.Lock.Name == "herd" {
				more := uint64(1)
				if noisy {
					more = uint64(r.Round % 3)
				}
				*r.Wire = harness.Counts{Requests: (1 + n + more) * r.Ops, Notifications: n * r.Ops}
			}
		}
		return run
	}
	for _, c := range []struct {
		workers []int
		noisy   bool
		want    string // in the answer
		cell    string // of the table
		drawn   bool
	}{
		{[]int{1, 2, 3, 4, 8}, false, "queue from 3.1 workers, interpolated between 3 and 4.", "from 3.1 workers, interpolated between 3 and 4 (queue)", true},
		{[]int{1, 2, 4, 8}, false, "queue from between 2 and 4 workers.", "from between 2 and 4 workers (queue)", false},
		{[]int{1, 2, 8, 16, 64}, false, "queue from between 2 and 8 workers.", "from between 2 and 8 workers (queue)", false},
		{[]int{1, 2, 3, 4, 8}, true, "queue from between 2 and 8 workers.", "from between 2 and 8 workers (queue)", false}, // the rounds disagree
	} {
		g := chart.Groups(measure(c.workers, c.noisy))[0]
		pic := chart.DrawRequests(g)
		if got := strings.ReplaceAll(pic.Answer, numfmt.Space, " "); !strings.Contains(got, c.want) {
			t.Errorf("%v workers: the answer %q lacks %q", c.workers, got, c.want)
		}
		herds := g.Herds()
		if len(herds) != 1 || herds[0].Close() != c.drawn {
			t.Errorf("%v workers: the crossing is drawn: %v, want %v", c.workers, !c.drawn, c.drawn)
		}
		if rows := fmt.Sprint(pic.Numbers.Rows); !strings.Contains(strings.ReplaceAll(rows, numfmt.Space, " "), c.cell) {
			t.Errorf("%v workers: the table lacks %q: %s", c.workers, c.cell, rows)
		}
	}
	run := measure([]int{1, 2, 3, 4, 8}, false)
	g := chart.Groups(run)[0]
	got := strings.ReplaceAll(chart.DrawRequests(g).Answer, numfmt.Space, " ")
	// 2+N exceeds 5.1 at 3.1.
	for _, want := range []string{"With 8 workers, herd has the most requests per acquisition (10), 2 times that of queue, the fewest (5).", "from 3.1 workers, interpolated between 3 and 4.", "about ten machines"} {
		if !strings.Contains(got, want) {
			t.Errorf("the answer %q lacks %q", got, want)
		}
	}
	for _, r := range run.Results {
		r.Wire.Requests = 5 * r.Ops
	}
	if got := strings.ReplaceAll(chart.DrawRequests(chart.Groups(run)[0]).Answer, numfmt.Space, " "); !strings.Contains(got, "beyond 8 workers, if at all") {
		t.Errorf("the answer %q does not say that no crossing was measured", got)
	}
}

func TestTime(t *testing.T) {
	m := synthetic.Fast("a", 1e5)
	m.Noise, m.Handed = 0, 1
	run := synthetic.Run(1, 3, 2, []int{1, 8}, m)
	for _, r := range run.Results {
		r.Hold = harness.Spans{N: 1000, Sum: 1000 * 2500}             // a quarter of a turn of 10 µs
		r.Handover = harness.Histogram{{Value: 5000, N: 1000}}        // half of it
		r.Ops, r.Handovers, r.Elapsed = 100_000, 100_000, time.Second // 10 µs each
	}
	got := strings.ReplaceAll(chart.DrawTime(chart.Groups(run)[0]).Answer, numfmt.Space, " ")
	if want := "With 8 workers, hand-overs take 50 % of the time of a, which is held 25 % of it."; !strings.Contains(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	for _, r := range run.Results {
		r.Workload.Locks = 4
	}
	if pic := chart.DrawTime(chart.Groups(run)[0]); pic.Height > 0 {
		t.Errorf("sections that overlap are drawn as if one lock had them: %s", pic.Answer)
	}
}

func TestManyGroups(t *testing.T) {
	run := &result.Run{}
	for i := range 60 {
		part := synthetic.Zoo(1)
		for _, r := range part.Results {
			r.Workload.Think.Mean = time.Duration(i) * time.Microsecond
		}
		run.Results = append(run.Results, part.Results...)
	}
	var buf bytes.Buffer
	if err := WriteHTML(&buf, run); err != nil {
		t.Fatal(err)
	}
	if n := buf.Len(); n > 3<<20 {
		t.Errorf("the page is %d bytes, want at most 3 MiB", n)
	}
	for _, want := range []string{`<details class="group">`, "Not drawn by themselves", "What does the think time change?"} {
		if !strings.Contains(buf.String(), want) {
			t.Errorf("the page lacks %q", want)
		}
	}
}
