package page

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"locklab/harness"
	"locklab/harness/result"
	"locklab/internal/synthetic"
	"locklab/reports/chart"
	"locklab/reports/draw"
)

// gallery returns a small synthetic run with some settings of otherSettings. With all of them
// every chart of the Suite has data, except the cost chart of a run without local locks.
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
		if r.Lock.Name == "herd" {
			r.Wire = &harness.Counts{Requests: r.Ops * uint64(r.Workload.Workers), Notifications: r.Ops * uint64(r.Workload.Workers)}
		}
	}
	factors := map[string]map[string]float64{ // of the rate; 0.5 by default
		"hold":             {"greedy": 0.1, "poll": 0.4}, // another lock is best
		"hold-distributed": {"greedy": 0.1, "parking": 0.2, "fair": 0.3, "herd": 0.07, "queue": 0.09},
	}
	run := *base
	for _, name := range settings {
		if name == openLoops {
			run.Results = append(run.Results, opened(base)...)
			continue
		}
		by := func(lock string) float64 { return cmp.Or(factors[name][lock], 0.5) }
		for _, r := range vary(base, otherSettings[name], by).Results[len(base.Results):] {
			if few := name == "hold-distributed" && r.Workload.Workers == 8 && r.Round > 2; !few {
				run.Results = append(run.Results, r)
			}
		}
	}
	run.Findings = laboratory().Findings
	return &run
}

const openLoops = "open"

// opened returns base with eight workers as open loops, too fast for some locks.
func opened(base *result.Run) (out []*harness.Result) {
	for _, r := range base.Results {
		if r.Workload.Workers != 8 || r.Lock.Status == harness.Control {
			continue
		}
		rates := []harness.Rate{100e3, 500e3, 1e6, 2e6}
		if r.Lock.Traits.Needs != "" {
			rates = []harness.Rate{500, 1e3, 2e3, 5e3}
		}
		for _, rate := range rates {
			out = append(out, synthetic.Open(r, rate))
		}
	}
	return out
}

var everySetting = []string{"hold", "hold-distributed", "section", "pinning", "wait-policy", "garbage", "think", "spread", "read", "read-distributed", "clients-distributed",
	"servers-distributed", "durable-distributed", "tls-distributed", "delay-distributed", openLoops}

// TestGalleryHasEveryChart: without it, the tests that draw the gallery would pass on
// charts without data.
func TestGalleryHasEveryChart(t *testing.T) {
	gs := chart.Groups(gallery(8, everySetting...))
	for _, c := range chart.Suite {
		g := chart.Largest(gs, c.Remote)
		if pic := c.Draw(g); pic.Height == 0 && c != chart.CostsRemote {
			t.Errorf("chart %s has nothing to draw: %s", c.Name, pic.Answer)
		} else if pic.Height > 0 && (len(pic.Numbers.Rows) == 0 || len(pic.Numbers.Head) == 0) {
			t.Errorf("chart %s has no table", c.Name)
		}
	}
}

// TestGoldenCharts draws the charts without data in the other goldens.
func TestGoldenCharts(t *testing.T) {
	run := gallery(8, everySetting...)
	outputs := make(map[string]func(io.Writer) error)
	for _, name := range []string{
		chart.RankingLocal.Name, chart.RankingRemote.Name, chart.CostsLocal.Name,
		chart.RequestsRemote.Name, chart.ReadLocal.Name, chart.ReadRemote.Name, chart.Spread.Name,
		chart.ThinkLocal.Name, chart.WaitPolicy.Name, chart.Garbage.Name, chart.Section.Name, chart.Clients.Name, chart.HoldRemote.Name,
		chart.Servers.Name, chart.Durable.Name, chart.TLS.Name, chart.Delay.Name, chart.LoadLocal.Name,
	} {
		outputs["gallery/"+name+".svg"] = func(w io.Writer) error { return WriteSVG(w, run, name) }
	}
	checkGolden(t, outputs)
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
	for _, c := range chart.Suite {
		var buf bytes.Buffer
		if err := WriteSVG(&buf, run, c.Name); err != nil {
			t.Fatal(err)
		}
		out[c.Name] = buf.String()
	}
	return out
}

var extremes = []float64{0, 1, -1, 0.5, math.NaN(), math.Inf(1), math.Inf(-1), math.MaxFloat64, -math.MaxFloat64, math.SmallestNonzeroFloat64, math.MaxInt64, math.MinInt64}

func spoil(run *result.Run, fields uint32, every int, v float64) {
	i := int64(max(math.MinInt64, min(v, math.MaxInt64/2)))
	if math.IsNaN(v) {
		i = math.MinInt64
	}
	u := uint64(i)
	for k, r := range run.Results {
		if k%every != 0 {
			continue
		}
		for f, set := range []func(){
			func() { r.Ops = u },
			func() { r.Handovers = u },
			func() { r.Elapsed = time.Duration(i) },
			func() { r.Workers = slices.Repeat([]uint64{u}, len(r.Workers)) },
			func() { r.Workers[len(r.Workers)-1] = u },
			func() { r.Workers = nil },
			func() { r.Wait = harness.Histogram{{Value: i, N: 200}} },
			func() { r.Wait = append(r.Wait, harness.Bucket{Value: 5000, N: i}) },
			func() { r.Handover = harness.Histogram{{Value: i, N: i}} },
			func() { r.Hold = harness.Spans{N: i, Sum: time.Duration(i)} },
			func() { r.Owners = slices.Repeat([]uint16{uint16(u)}, 600) },
			func() { r.Burst = int(i) },
			func() { r.Owners = nil },
			func() { r.ClockFloor = v },
			func() { r.ClockStep = v },
			func() { r.Wire = &harness.Counts{Requests: u, Notifications: u} },
			func() { r.Wire = nil },
			func() { r.Workload.Hold.Mean = time.Duration(i) },
			func() { r.CPU.Time = time.Duration(i) },
			func() { r.RoundTrip = v },
			func() { r.Workload.Rate = harness.Rate(v) },
			func() {
				r.Open = &harness.OpenLoop{Offered: u, Span: time.Duration(i), Backlog: u, Late: u, Dropped: u}
			},
			func() { r.Open = nil },
		} {
			if fields>>f&1 == 1 {
				set()
			}
		}
	}
	for _, f := range run.Findings {
		for _, t := range f.Tables {
			for _, row := range t.Rows {
				for k := range row.Cells {
					if fields>>23&1 == 1 {
						row.Cells[k].Median = v
					}
					if fields>>24&1 == 1 {
						row.Cells[k].Lo, row.Cells[k].Hi = v, -v
					}
				}
			}
		}
	}
	if fields>>25&1 == 1 {
		run.Manifest.Overhead.Loop = v
	}
}

// FuzzCharts: with damaged figures no chart panics, is empty, or writes an invalid number.
func FuzzCharts(f *testing.F) {
	if testing.Short() {
		f.Skip("make test-all runs it")
	}
	for i := range extremes {
		f.Add(^uint32(0), byte(i), byte(3)) // everything
		f.Add(uint32(0x55555555)<<(i%2), byte(i), byte(1))
	}
	for field := range 26 {
		f.Add(uint32(1)<<field, byte(field*5), byte(1+field%3))
	}
	f.Fuzz(func(t *testing.T, fields uint32, value, every byte) {
		run := gallery(2, "hold", "pinning", openLoops)
		spoil(run, fields, 1+int(every%8), extremes[int(value)%len(extremes)])
		gs := chart.Groups(run)
		for _, c := range chart.Suite {
			g := chart.Largest(gs, c.Remote)
			if g == nil {
				continue
			}
			pic := c.Draw(g)
			text := pic.Answer + fmt.Sprint(pic.Numbers)
			if pic.Height > 0 {
				svg, err := draw.Inline(pic.Picture, "x", c.Title, pic.Answer)
				if err != nil {
					t.Fatalf("chart %s: %v", c.Name, err)
				}
				text += svg
			}
			for _, bad := range []string{"NaN", "Inf", "%!"} {
				if strings.Contains(text, bad) {
					t.Errorf("chart %s has %q: %s", c.Name, bad, pic.Answer)
				}
			}
			if pic.Answer == "" {
				t.Errorf("chart %s says nothing", c.Name)
			}
		}
	})
}
