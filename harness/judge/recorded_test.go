package judge

import (
	"bytes"
	"compress/gzip"
	_ "embed"
	"math/rand/v2"
	"slices"
	"testing"

	"locklab/harness/result"
	"locklab/internal/stat"
)

// The rates of 18 rounds of the default choice, in windows of 30 ms, as measured by make
// report. The machine was an idle virtual machine (Intel Xeon, 2.50 GHz, two virtual
// processors, Linux 6.18, Go 1.26.8). These two commands record another:
//
//	locklab run --locks default --budget 4m30s --out DIR
//	locklab export DIR --format rates | gzip -9n >harness/judge/testdata/recorded.jsonl.gz
//
//go:embed testdata/recorded.jsonl.gz
var recordedRates []byte

func recorded(t *testing.T) *result.Run {
	t.Helper()
	unzipped, err := gzip.NewReader(bytes.NewReader(recordedRates))
	if err != nil {
		t.Fatal(err)
	}
	run, err := result.ReadRates(unzipped)
	if err != nil {
		t.Fatal(err)
	}
	return run
}

type noise struct {
	name   string
	common []float64   // factor of each round for all locks
	own    [][]float64 // factor of each round for each lock, without the common factor
}

func noises(run *result.Run) (out []noise) {
	for _, s := range MainSituations(Groups(run)) {
		n := noise{name: s.Name()}
		var all [][]float64
		for _, x := range s.group.At(s.Workers) {
			if rates := x.Cells[s.Workers].Figures(s.Metric()); len(rates) == run.Manifest.Rounds && correct(x.Lock) && slices.Min(rates) > 0 {
				median := stat.Summarize(rates).Median
				for i := range rates {
					rates[i] /= median
				}
				all = append(all, rates)
			}
		}
		for i := range run.Manifest.Rounds {
			var round []float64
			for _, rates := range all {
				round = append(round, rates[i])
			}
			n.common = append(n.common, stat.Summarize(round).Median)
			for _, rates := range all {
				rates[i] /= n.common[i]
			}
		}
		for _, rates := range all {
			median := stat.Summarize(rates).Median
			for i := range rates {
				rates[i] /= median
			}
		}
		n.own = all
		if len(all) > 3 {
			out = append(out, n)
		}
	}
	return out
}

// draw returns synthetic rates with the disturbances of recorded rounds. All locks have the
// noise of one recorded lock: locks are equal only if their disturbances are alike.
func (n noise) draw(rng *rand.Rand, rounds int, rates []float64) [][]float64 {
	out, own := make([][]float64, len(rates)), n.own[rng.IntN(len(n.own))]
	for range rounds {
		common := n.common[rng.IntN(len(n.common))]
		for i, rate := range rates {
			out[i] = append(out[i], rate*common*own[rng.IntN(len(own))])
		}
	}
	return out
}

// TestRecordedNoise: 16 equal locks differ in under 5 % of runs; 0.7 of the rate is found in
// most.
func TestRecordedNoise(t *testing.T) {
	const locks, rounds, tries = 16, 18, 300
	at := baseLevel(locks)
	for _, n := range noises(recorded(t)) {
		rng := rand.New(rand.NewPCG(17, 3))
		wrong, found := 0, 0
		for range tries {
			rates := slices.Repeat([]float64{1}, locks)
			differs := func(drawn [][]float64, i int) bool {
				r := stat.Paired(drawn[i], drawn[0], at)
				return r.Less() || r.Greater()
			}
			equal := n.draw(rng, rounds, rates)
			if slices.ContainsFunc([]int{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}, func(i int) bool { return differs(equal, i) }) {
				wrong++
			}
			rates[1] = 0.7
			if differs(n.draw(rng, rounds, rates), 1) {
				found++
			}
		}
		t.Logf("%s: equal locks differ in %.1f %% of columns; a rate of 0.7 is found in %.0f %%", n.name, 100*float64(wrong)/tries, 100*float64(found)/tries)
		if wrong > tries/20 {
			t.Errorf("%s: %d of %d columns of equal locks show a difference", n.name, wrong, tries)
		}
		if found == 0 {
			t.Errorf("%s: a lock at 0.7 of the rate is never found", n.name)
		}
	}
}
