package verdict

import (
	"bytes"
	"cmp"
	"compress/gzip"
	_ "embed"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"locklab/harness/resultfile"
	"locklab/harness/stat"
)

// The rates of 18 rounds of the default choice, windows of 30 ms, as make report measured
// them on a virtual machine (Intel Xeon, 2.50 GHz, two virtual processors, Linux 6.18, Go
// 1.26.8) that had nothing else to do. These two commands record another:
//
//	locklab run --locks default --budget 4m30s --out DIR
//	locklab export DIR --format rates | gzip -9n >harness/verdict/testdata/recorded.jsonl.gz
//
//go:embed testdata/recorded.jsonl.gz
var recordedRates []byte

// recorded reads the recorded run.
func recorded(t *testing.T) *resultfile.Run {
	t.Helper()
	unzipped, err := gzip.NewReader(bytes.NewReader(recordedRates))
	if err != nil {
		t.Fatal(err)
	}
	run, err := resultfile.ReadRates(unzipped)
	if err != nil {
		t.Fatal(err)
	}
	return run
}

// TestRecordedAgrees is the short form of "make prove-verdict": of the recorded run, 9 of
// 10 resampled runs choose the same lock in each row in which the best lock leads by two
// margins. It is asked of the locks for use, and of all.
func TestRecordedAgrees(t *testing.T) {
	decided := 0
	for _, among := range []resultfile.Candidates{resultfile.CandidatesRecommended, resultfile.CandidatesAll} {
		run := recorded(t)
		run.Manifest.Candidates = among
		first, _ := Standing(Groups(run))
		vs, _ := weigh(first, 100, nil)
		for _, v := range vs {
			ahead, proven := v.about.ahead()
			t.Logf("%s, %s: %q ahead %.2f, proven %v: %v", among, v.Situation, v.Use, ahead, proven, v.Agreement)
			if !proven {
				continue
			}
			decided++
			if v.Use == "" || v.Agreement.Share() < 0.9 {
				t.Errorf("%s, %s (%s): %q, %v; want the same lock in 90 %%", among, v.Situation, v.Setting, v.Use, v.Agreement)
			}
		}
	}
	if decided == 0 {
		t.Error("the recorded run decides no row by two margins: this test shows nothing")
	}
}

// A noise is what the rounds of one situation did to its locks beside their medians.
type noise struct {
	name   string
	common []float64   // factor of each round for all locks
	own    [][]float64 // factor of each round for each lock, without what is common
}

// noises returns the noise of each row of run.
func noises(run *resultfile.Run) (out []noise) {
	first, _ := Standing(Groups(run))
	for _, s := range first {
		n := noise{name: s.name}
		var all [][]float64
		for _, x := range s.g.At(s.workers) {
			if rates := x.Cells[s.workers].Figures(s.metric()); len(rates) == run.Manifest.Rounds && eligible(x.Lock) && slices.Min(rates) > 0 {
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

// draw makes up the rates of locks of these true rates. Each round is disturbed as a
// recorded one, and each lock as one of the recorded locks was in some round: all as the
// same one, for locks are equal only if what disturbs them is alike.
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

// leader returns which has the highest median.
func leader(rates [][]float64) int {
	best := slices.MaxFunc(rates, func(a, b []float64) int { return cmp.Compare(stat.Summarize(a).Median, stat.Summarize(b).Median) })
	return slices.IndexFunc(rates, func(x []float64) bool { return &x[0] == &best[0] })
}

// found returns in which share of simulated runs the leader is shown to be faster by more
// than the margin than one of the others, which have these true rates: any of them, or
// the second.
func (n noise) found(rounds, tries int, rates []float64, any bool) float64 {
	among, _ := levels(len(rates), 13)
	rng := rand.New(rand.NewPCG(17, uint64(rounds)))
	count := 0
	for range tries {
		drawn := n.draw(rng, rounds, rates)
		best := leader(drawn)
		for i, x := range drawn {
			if (any || i == 1 && best == 0) && i != best && stat.Paired(drawn[best], x, among).Read(stat.DefaultMargin) == stat.Slower {
				count++
				break
			}
		}
	}
	return float64(count) / float64(tries)
}

// TestRecordedNoise: under the noise of the recorded run less than 5 % of runs of four
// equal locks draw a winner. And it prints in how many a lock is found that is slower by
// twice the margin, in as many rounds as a run plans, and how many rounds it takes to
// find it in 95 %. With the least noise that a machine has, 1 % a round, the planned
// rounds are enough.
func TestRecordedNoise(t *testing.T) {
	const tries, most = 400, 512
	equal, slower := []float64{1, 1, 1, 1}, []float64{1, 1 - 2*stat.DefaultMargin, 0.5, 0.5}
	planned := stat.SturdyRounds(func() float64 { among, _ := levels(4, 13); return among }())
	quiet := noise{name: "1 % a round, made up", common: []float64{1}}
	rng := rand.New(rand.NewPCG(1, 1))
	for range 8 {
		var own []float64
		for range 64 {
			own = append(own, math.Exp(0.01*rng.NormFloat64()))
		}
		quiet.own = append(quiet.own, own)
	}
	for _, n := range append(noises(recorded(t)), quiet) {
		false5 := n.found(planned, tries, equal, true)
		power, need := n.found(planned, tries, slower, false), planned
		for need < most && n.found(need, tries/4, slower, false) < 0.95 {
			need *= 2
		}
		t.Logf("%s: %.1f %% of %d runs of equal locks draw a winner; in %d rounds one slower by 10 %% is found in %.0f %%, in 95 %% with %d rounds (%d: more than these)",
			n.name, 100*false5, tries, planned, 100*power, need, most)
		if false5 >= 0.05 {
			t.Errorf("%s: %.1f %% of runs of equal locks draw a winner, want less than 5 %%", n.name, 100*false5)
		}
		if n.name == quiet.name && power < 0.95 {
			t.Errorf("%s: a lock slower by twice the margin is found in %.0f %%, want 95 %%", n.name, 100*power)
		}
	}
}

// TestAgreementPredicts: the share of resampled runs is about that of other runs, near
// the margin, where it is hardest to say, and far from it.
func TestAgreementPredicts(t *testing.T) {
	const runs, resampled = 12, 30
	w := badRounds(0.1)
	var predicted, seen float64
	rates := []float64{0.97, 0.94, 0.92, 0.85}
	for _, rate := range rates {
		rng := rand.New(rand.NewPCG(9, uint64(1000*rate)))
		uses := make(map[string]int)
		for range runs {
			vs, _ := weigh([]Situation{onlySituation(w.simulate(rng, 16, choice17(1, rate, 0.5, 0.5)[:6]))}, resampled, nil)
			uses[vs[0].Use]++
			predicted += vs[0].Agreement.Share() / float64(runs*len(rates))
		}
		for _, n := range uses {
			seen += float64(n*(n-1)) / float64(runs*(runs-1)*len(rates))
		}
	}
	t.Logf("predicted %.2f, seen %.2f", predicted, seen)
	if math.Abs(predicted-seen) > 0.1 || predicted > 0.97 {
		t.Errorf("%.0f %% of resampled runs agree, and %.0f %% of others; want them within 10 points, and not all", 100*predicted, 100*seen)
	}
}

// TestLeadIsAVerdict: where the best lock leads by two margins there is a verdict, also
// with bad rounds, and it is that lock.
func TestLeadIsAVerdict(t *testing.T) {
	const tries = 100
	rng := rand.New(rand.NewPCG(21, 1))
	var none, other int
	for range tries {
		switch v := badRounds(0.02).judged(rng, 16, choice17(1, 1-2*stat.DefaultMargin, 0.5, 0.5)[:6]); v.Use {
		case "usea":
		case "":
			none++
		default:
			other++
		}
	}
	t.Logf("of %d runs %d come to no verdict and %d choose another lock", tries, none, other)
	if none > 0 || other > tries/20 {
		t.Errorf("of %d runs in which the best lock leads by two margins %d come to no verdict and %d choose another; want none, and %d at most", tries, none, other, tries/20)
	}
}
