package page

import (
	"slices"
	"strings"
	"testing"
	"time"

	"locklab/harness"
	"locklab/harness/result"
	"locklab/internal/numfmt"
	"locklab/internal/synthetic"
	"locklab/reports/chart"
	"locklab/reports/draw"
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
			got := numfmt.Plain(pic.Answer)
			for _, want := range []string{"With 8 workers", " on c: ", "1 of 4 effects are significant."} {
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
		if got := numfmt.Plain(chart.Pinning.Draw(chart.Groups(run)[0]).Answer); !strings.Contains(got, c.want) {
			t.Errorf("%d rounds: the answer is %q, want it to have %q", c.rounds, got, c.want)
		}
	}
	one := synthetic.Run(1, 10, 2, []int{1, 8}, synthetic.Fast("a", 1e6))
	if pic := chart.Pinning.Draw(chart.Groups(one)[0]); pic.Height > 0 || !strings.Contains(pic.Answer, "--pin none,cpu") {
		t.Errorf("one value is drawn, or the answer %q does not name the flag", pic.Answer)
	}
	if slices.ContainsFunc(Posters(one), func(p draw.Poster) bool { return p.Name == "pinning" }) {
		t.Error("a run that does not vary the pinning has a chart of it")
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
	got := numfmt.Plain(chart.Clients.Draw(chart.Groups(run)[0]).Answer)
	if !strings.Contains(got, "4 times the rate") && !strings.Contains(got, "25 % of the rate") {
		t.Errorf("the answer %q does not say that hand-overs fell to a quarter", got)
	}
}

// TestUnvaried: a dimension with one value has no chart, but a line with the flags.
func TestUnvaried(t *testing.T) {
	page := pageOf(t, synthetic.Run(1, 3, 2, []int{1, 2}, synthetic.Fast("a", 1e6)))
	if strings.Contains(page, chart.Pinning.Title) || strings.Count(page, "Not varied in this run") != 1 {
		t.Error("the page asks what it has no answer to, or does not say once what was not varied")
	}
	for _, c := range chart.Suite {
		if c.Varies != nil && !c.Remote && !strings.Contains(page, c.Varies.Flag) {
			t.Errorf("the page does not name %s", c.Varies.Flag)
		}
	}
}

// TestHerd: a queue with five requests and a herd with one more per worker. The herd is named
// from the number of workers at which it costs more, by the intervals.
func TestHerd(t *testing.T) {
	queue := synthetic.Model{Lock: synthetic.Served("queue", harness.ZooKeeper, harness.KindZooKeeper), Rate: synthetic.Constant(500), Handed: 1}
	queue.Lock.Traits.FIFO = true
	herd := queue
	herd.Lock.Name = "herd"
	for _, c := range []struct {
		workers []int
		more    func(round int) uint64 // requests of the herd beyond one for each worker
		want    string
	}{
		{[]int{1, 2, 3, 4, 8}, func(int) uint64 { return 2 }, "Herds that cost more requests than a queue: herd more than queue from 4 workers on."},
		{[]int{1, 2, 8, 16}, func(int) uint64 { return 2 }, "from 8 workers on."},
		{[]int{1, 2, 4, 8}, func(round int) uint64 { return uint64(round % 3) }, "from 8 workers on."}, // the rounds disagree
		{[]int{1, 2, 3}, func(int) uint64 { return 2 }, "With 3 workers, herd has the most requests per acquisition (5), 1 times that of queue, the fewest (5)."},
	} {
		run := synthetic.Run(1, 6, 2, c.workers, queue, herd)
		for _, r := range run.Results {
			*r.Wire = harness.Counts{Requests: 5 * r.Ops, Notifications: r.Ops}
			if n := uint64(r.Workload.Workers); r.Lock.Name == "herd" {
				*r.Wire = harness.Counts{Requests: (n + c.more(r.Round)) * r.Ops, Notifications: n * r.Ops}
			}
		}
		if got := numfmt.Plain(chart.DrawRequests(chart.Groups(run)[0]).Answer); !strings.HasSuffix(got, c.want) {
			t.Errorf("%v workers: the answer is %q, want %q", c.workers, got, c.want)
		}
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
	page := pageOf(t, run)
	if n := len(page); n > 3<<20 {
		t.Errorf("the page is %d bytes, want at most 3 MiB", n)
	}
	for _, want := range []string{`<details class="group">`, "Not drawn by themselves", "What does the think time change?"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
}
