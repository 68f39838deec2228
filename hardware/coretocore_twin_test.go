package hardware

import (
	"errors"
	"math"
	"slices"
	"testing"
	"time"

	"locklab/internal/stat"
	"locklab/internal/twin"
)

// A twinRound is neighbouring blocks in the order Go, C, C, Go: a drift affects both equally.
type twinRound struct{ goFirst, cFirst, cLast, goLast float64 } // ns one way

func (r twinRound) ratio() float64 { return math.Sqrt(r.goFirst * r.goLast / (r.cFirst * r.cLast)) }

// matchRounds returns the rounds in which both blocks of Go, and both of C, were in one
// regime. It never compares Go with C.
func matchRounds(rounds []twinRound) []twinRound {
	var goNs, cNs []float64
	for _, r := range rounds {
		goNs, cNs = append(goNs, r.goFirst, r.goLast), append(cNs, r.cFirst, r.cLast)
	}
	slices.Sort(goNs)
	slices.Sort(cNs)
	inGo, inC := regimesOf(goNs), regimesOf(cNs)
	return slices.DeleteFunc(slices.Clone(rounds), func(r twinRound) bool {
		return regimeOf(inGo, r.goFirst) != regimeOf(inGo, r.goLast) || regimeOf(inC, r.cFirst) != regimeOf(inC, r.cLast)
	})
}

func TestMatchRounds(t *testing.T) {
	steady := func(goNs, cNs float64) twinRound { return twinRound{goNs, cNs, cNs, goNs} }
	var rounds []twinRound
	for range 10 {
		rounds = append(rounds, steady(60, 30), steady(200, 100), // Go takes twice as long in both regimes
			// and these change on the way:
			twinRound{60, 30, 100, 200}, twinRound{60, 100, 100, 200}, twinRound{200, 30, 30, 60}, twinRound{60, 30, 100, 60})
	}
	got := matchRounds(rounds)
	if len(got) != 20 {
		t.Errorf("%d rounds match", len(got))
	}
	for _, r := range got {
		if math.Abs(r.ratio()-2) > 1e-9 {
			t.Errorf("%+v matches, ratio %v", r, r.ratio())
		}
	}
}

// BenchmarkCoreToCoreTwin compares the handover in Go and C, by both algorithms, on the
// nearest CPUs, in blocks of a millisecond. go/c should be 0.9 to 1.1; figures in ns are for
// this run only.
func BenchmarkCoreToCoreTwin(b *testing.B) {
	for _, test := range []struct {
		inGo handOver
		inC  string
	}{
		{casSpin, "cas-spin"},
		{loadThenCAS, "load-then-cas"},
	} {
		b.Run("algorithm="+test.inC, func(b *testing.B) { benchmarkTwin(b, test.inGo, test.inC) })
	}
}

const (
	twinBlock = time.Millisecond // shorter than a time slice of the system's scheduler
	twinLeast = 21               // matched rounds
	twinMost  = 400              // rounds, matched or not
)

func benchmarkTwin(b *testing.B, inGo handOver, inC string) {
	cpus := twoHopCPUs(b)
	ctx := b.Context()
	tw, err := twin.Start(ctx, twin.CoreToCore)
	if errors.Is(err, twin.ErrNoCompiler) {
		b.Skip(err)
	}
	requireNoError(b, err)
	defer tw.Close()
	rig := startRig(b, cpus)
	goBlock := func() float64 {
		ns, err := rig.sample(inGo, cpus, twinBlock)
		requireNoError(b, err)
		return ns
	}
	cBlock := func() float64 {
		r, err := tw.Run(ctx, inC, []int{max(cpus[0], twin.Unbound), max(cpus[1], twin.Unbound)}, twinBlock)
		requireNoError(b, err)
		return r.NsPerOp()
	}
	var rounds, matched []twinRound
	round := func() {
		rounds = append(rounds, twinRound{goBlock(), cBlock(), cBlock(), goBlock()})
	}
	for b.Loop() {
		round()
	}
	for matched = matchRounds(rounds); len(matched) < twinLeast && len(rounds) < twinMost; matched = matchRounds(rounds) {
		round()
	}
	if len(matched) < twinLeast {
		b.Skipf("%d of %d rounds stayed in one regime, %d are needed: the machine is too unsteady", len(matched), len(rounds), twinLeast)
	}
	reportTwin(b, rounds, matched)
}

func reportTwin(b *testing.B, rounds, matched []twinRound) {
	var ratio, goNs, cNs []float64
	for _, r := range matched {
		ratio = append(ratio, r.ratio())
		goNs, cNs = append(goNs, r.goFirst, r.goLast), append(cNs, r.cFirst, r.cLast)
	}
	slices.Sort(ratio)
	c := medianCell(ratio)
	b.ReportMetric(c.Median, "go/c")
	b.ReportMetric(c.Lo, "go/c-low")
	b.ReportMetric(c.Hi, "go/c-high")
	b.ReportMetric(ratio[len(ratio)/4], "go/c-p25")
	b.ReportMetric(ratio[len(ratio)*3/4], "go/c-p75")
	b.ReportMetric(stat.Median(goNs), "go-ns/hop")
	b.ReportMetric(stat.Median(cNs), "c-ns/hop")
	b.ReportMetric(float64(len(matched)), "matched")
	b.ReportMetric(float64(len(rounds)), "rounds")
	b.ReportMetric(0, "ns/op") // the time of a round has no meaning
}

func (r *hopRig) sample(h handOver, cpus [2]int, span time.Duration) (float64, error) {
	const tries = 100 // as in C
	for range tries {
		if ns := r.exchange(h, cpus, span).block(1); len(ns) > 0 {
			return ns[0], nil
		}
	}
	return 0, errors.New("the threads are preempted all the time")
}
