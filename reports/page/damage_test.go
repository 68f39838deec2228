package page

import (
	"bytes"
	"errors"
	"io"
	"math"
	"regexp"
	"slices"
	"testing"
	"time"

	"locklab/harness"
	"locklab/harness/result"
	"locklab/internal/require"
	"locklab/internal/synthetic"
	"locklab/reports/chart"
)

var extremes = []float64{0, 1, -1, 0.5, math.NaN(), math.Inf(1), math.Inf(-1), math.MaxFloat64, -math.MaxFloat64, math.SmallestNonzeroFloat64, math.MaxInt64, math.MinInt64}

// damagedRun returns a run with all kinds of results. One in every has v in the selected fields.
func damagedRun(fields uint32, every int, v float64) *result.Run {
	run := gallery(2, "hold", "pinning", openLoops)
	run.Results = slices.Concat(run.Results, contendedRun().Results, delayedRun(time.Millisecond).Results)
	run.RoundTrips, run.Contenders = []time.Duration{time.Millisecond}, []int{100_000}
	run.Faults, run.Simulations = synthetic.Faults(), simulatedRun().Simulations
	i := int64(max(math.MinInt64, min(v, math.MaxInt64/2)))
	if math.IsNaN(v) {
		i = math.MinInt64
	}
	has := func(f int) bool { return fields>>f&1 == 1 }
	for k, r := range run.Results {
		if k%every == 0 {
			for f, set := range damagesOf(r, i, v) {
				if has(f) {
					set()
				}
			}
		}
	}
	for _, f := range run.Findings {
		for _, t := range f.Tables {
			for _, row := range t.Rows {
				for k := range row.Cells {
					if has(23) {
						row.Cells[k].Median = v
					}
					if has(24) {
						row.Cells[k].Lo, row.Cells[k].Hi = v, -v
					}
				}
			}
		}
	}
	for k, s := range run.Simulations {
		if has(29) && k%every == 0 {
			s.PerAcquisition, s.Misses, s.Hold = result.Expected{Median: v, Lo: -v, Hi: v}, result.Expected{Median: v}, v
		}
	}
	if has(25) {
		run.Manifest.Overhead.Loop, run.Manifest.Machine.ClockFloor = v, v
		run.Manifest.Machine.CPUs, run.Manifest.Machine.GOMAXPROCS = int(i), int(i)
	}
	for _, f := range run.Faults {
		if has(30) {
			f.Window, f.Overlap, f.Tries = []int64{i, 1}, []int64{i}, int(i%1e6)
		}
	}
	return run
}

// damagesOf returns functions by the number of their field, which damage r.
func damagesOf(r *result.Result, i int64, v float64) map[int]func() {
	u := uint64(i)
	leg := result.Leg{Halves: int(i), Requests: v}
	return map[int]func(){
		0:  func() { r.Ops = u },
		1:  func() { r.Handovers = u },
		2:  func() { r.Elapsed = time.Duration(i) },
		3:  func() { r.Workers = slices.Repeat([]uint64{u}, len(r.Workers)) },
		4:  func() { r.Workers = append(slices.Clone(r.Workers), u)[1:] },
		5:  func() { r.Workers = nil },
		6:  func() { r.Wait = result.Histogram{{Value: i, N: 200}} },
		7:  func() { r.Wait = append(r.Wait, result.Bucket{Value: 5000, N: i}) },
		8:  func() { r.Handover = result.Histogram{{Value: i, N: i}} },
		9:  func() { r.Hold = result.Spans{N: i, Sum: time.Duration(i)} },
		10: func() { r.Owners = slices.Repeat([]uint16{uint16(u)}, 600) },
		11: func() { r.Burst = int(i) },
		12: func() { r.Owners = nil },
		13: func() { r.ClockFloor = v },
		14: func() { r.ClockStep = v },
		15: func() { r.Wire = &harness.Counts{Requests: u, Notifications: u} },
		16: func() { r.Wire = nil },
		17: func() { r.Workload.Hold.Mean = time.Duration(i) },
		18: func() { r.CPU.Time = time.Duration(i) },
		19: func() { r.RoundTrip = v },
		20: func() { r.Workload.Rate = harness.Rate(i) },
		21: func() {
			r.Open = &result.OpenLoop{Offered: u, Span: time.Duration(i), Backlog: u, Late: u, Dropped: u}
		},
		22: func() { r.Open = nil },
		26: func() {
			r.Trips = &result.Trips{Lock: leg, Unlock: leg, Behind: &result.TripsBehind{Queue: leg, Handover: leg, Unlock: leg, Requests: v}}
		},
		27: func() { // values that no flag gives
			w := &r.Workload
			w.Pin, w.Wait, w.Section, w.Arrivals = "x", "y", "z", "z"
			w.Locks, w.Reads, w.Servers, w.Clients, w.Delay = int(i), int(i), int(i), int(i), time.Duration(i)
		},
		28: func() { r.Workload.Workers = int(max(-9, min(i, math.MaxInt32))) },
	}
}

// FuzzCharts: of a run with damaged figures each chart has an answer, and no form of the
// report has an invalid number.
func FuzzCharts(f *testing.F) {
	values := []byte{0, 2, 4, 5, 10} // 0, -1, NaN, +Inf and MaxInt64
	if !testing.Short() {
		values = values[:0]
		for i := range extremes {
			values = append(values, byte(i))
			f.Add(uint32(0x55555555)<<(i%2), byte(i), byte(1))
		}
		for field := range 31 {
			f.Add(uint32(1)<<field, byte(field*5), byte(1+field%3))
		}
	}
	for _, v := range values {
		f.Add(^uint32(0), v, byte(3)) // everything
	}
	f.Fuzz(func(t *testing.T, fields uint32, value, every byte) {
		run := damagedRun(fields, 1+int(every%8), extremes[int(value)%len(extremes)])
		gs := chart.Groups(run)
		for _, c := range chart.Suite {
			if g := chart.Anchored(gs, c.Remote); g != nil && c.Draw(g).Answer == "" {
				t.Errorf("chart %s has no answer", c.Name)
			}
		}
		var out bytes.Buffer
		report, ms := Report(run), machinesOf(nameMachines([]*result.Run{run, gallery(2)}, []string{"a", "b"}))
		require.NoError(t, errors.Join(report.HTML(&out), report.Text(&out, 100), ms.HTML(&out), WriteJSON(io.Discard, run), ms.Markdown(&out, "charts", noPicture)))
		if bad := findUnformatted(out.String()); bad != "" {
			t.Error(bad)
		}
	})
}

var unformattedRE = regexp.MustCompile(`(NaN|\bInf\b|%!|ZgotmplZ|<no value>|<script).{0,80}`)

func findUnformatted(text string) string { return unformattedRE.FindString(text) }
