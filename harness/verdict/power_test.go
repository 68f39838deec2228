package verdict

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"locklab/harness"
	"locklab/harness/resultfile"
	"locklab/harness/stat"
	"locklab/internal/machine"
	"locklab/internal/synthetic"
)

// A contender is a lock as a simulated round sees it.
type contender struct {
	lock harness.Lock
	rate float64 // true, relative to the others
}

// A weather is what disturbs the rounds. Spreads are of the logarithm of a rate.
type weather struct {
	name   string
	noise  func(rng *rand.Rand) float64 // of one lock in one round; its logarithm
	common float64                      // spread of what slows down all locks of a round alike
	drift  float64                      // how much of that stays until the next round, up to 1
	bad    float64                      // chance of a bad round, for each lock by itself
	badBy  float64                      // what is left of the rate in it
}

func normal(sd float64) func(*rand.Rand) float64 {
	return func(rng *rand.Rand) float64 { return sd * rng.NormFloat64() }
}

// draw makes up the rates of locks of these true rates, by lock and round.
func (w weather) draw(rng *rand.Rand, rounds int, rates []float64) [][]float64 {
	out := make([][]float64, len(rates))
	common := 0.0
	for range rounds {
		common = w.drift*common + w.common*rng.NormFloat64()
		for i, rate := range rates {
			rate *= math.Exp(common + w.noise(rng))
			if rng.Float64() < w.bad {
				rate *= w.badBy
			}
			out[i] = append(out[i], rate)
		}
	}
	return out
}

// simulate makes up a run of these locks, by 16 workers on 2 processors.
func (w weather) simulate(rng *rand.Rand, rounds int, locks []contender) *resultfile.Run {
	started := time.Date(2020, 2, 3, 4, 5, 6, 0, time.UTC)
	run := &resultfile.Run{Manifest: resultfile.Manifest{Schema: 1, Rounds: rounds, Cases: len(locks), Started: started, Finished: started.Add(time.Hour),
		Machine: machine.Environment{OS: "linux", Arch: "amd64", CPU: "x", CPUs: 2, GOMAXPROCS: 2}}}
	var rates []float64
	for _, l := range locks {
		rates = append(rates, l.rate)
	}
	drawn := w.draw(rng, rounds, rates)
	for round := range rounds {
		for i, l := range locks {
			half := uint64(1e7 * drawn[i][round] / 2)
			run.Results = append(run.Results, &harness.Result{Lock: l.lock, Round: round, Elapsed: time.Second, Overlap: 1,
				SampleEvery: 64, ClockFloor: 20, ClockStep: 10, Ops: 2 * half, Workers: []uint64{half, half},
				Workload: harness.Workload{Workers: 16, Hold: harness.Span{Mean: 100}, Window: time.Second}})
		}
	}
	return run
}

// choice17 returns the locks of the default choice: four for use, of which the
// second is simpler than the others, and 13 kept for reference.
func choice17(rates ...float64) (out []contender) {
	for i, rate := range rates {
		l := synthetic.Local(fmt.Sprintf("use%c", 'a'+i), harness.Spin, harness.Recommended)
		if l.Complexity = harness.Queued; i == 1 {
			l.Complexity = harness.Single
		}
		out = append(out, contender{l, rate})
	}
	for i := range 13 {
		out = append(out, contender{synthetic.Local(fmt.Sprintf("ref%c", 'a'+i), harness.Spin, harness.Reference), 0.5})
	}
	return out
}

func (w weather) judged(rng *rand.Rand, rounds int, locks []contender) Verdict {
	vs := All(w.simulate(rng, rounds, locks))
	return vs[len(vs)-1]
}

// outcome counts what became of a lock that is slower than the leader.
type outcome struct{ recommended, slower, tied, none int }

// fate counts what verdicts say of useb, whose true rate is that part of usea's;
// two others are far behind.
func (w weather) fate(rounds int, rate float64, tries int) (o outcome) {
	rng := rand.New(rand.NewPCG(3, uint64(math.Round(1000*rate))+uint64(1e6*w.bad)))
	for range tries {
		switch v := w.judged(rng, rounds, choice17(1, rate, 0.5, 0.5)); {
		case v.Use == "":
			o.none++
		case v.Use == "useb":
			o.recommended++
		case slices.Contains(v.Ties(), "useb"):
			o.tied++
		default:
			o.slower++
		}
	}
	return o
}

// badRounds is the weather of the table: a machine that repeats within 2 %, and
// sometimes gives a lock half of its processor for a round.
func badRounds(chance float64) weather {
	return weather{noise: normal(0.02), common: 0.1, drift: 0.9, bad: chance, badBy: 0.5}
}

// TestPower prints what becomes of a lock that is simpler than the leader and slower by
// twice the margin, or by 25 % (a rate of 80 %), over the rounds and how many of them are
// bad. 12 rounds are few, 19 what a default run takes. It is not to be used for being
// simpler in all but so many runs, and called slower in so many at least: both in percent.
func TestPower(t *testing.T) {
	const tries = 80
	type bound struct{ slower, recommended float64 }
	t.Log("| rounds | true rate | bad rounds | called slower | not told apart | recommended | no verdict |")
	for _, c := range []struct {
		rounds      int
		twice, rate map[float64]bound // by the chance of a bad round
	}{
		{12,
			map[float64]bound{0: {80, 2.5}, 0.02: {70, 4}, 0.05: {55, 6}, 0.1: {35, 17.5}},
			map[float64]bound{0: {100, 0}, 0.02: {92, 0}, 0.05: {78, 1.3}, 0.1: {60, 4}, 0.2: {35, 12.5}}},
		{19,
			map[float64]bound{0: {95, 0}, 0.02: {92, 1.3}, 0.05: {80, 2.5}, 0.1: {57, 5}},
			map[float64]bound{0: {100, 0}, 0.02: {97, 0}, 0.05: {92, 0}, 0.1: {85, 2.5}, 0.2: {55, 10}}},
		{24,
			map[float64]bound{0: {98, 0}, 0.02: {97, 1.3}, 0.05: {93, 2.5}, 0.1: {85, 5}},
			map[float64]bound{0: {100, 0}, 0.02: {100, 0}, 0.05: {97, 0}, 0.1: {94, 0}, 0.2: {75, 2.5}}},
	} {
		for rate, bounds := range map[float64]map[float64]bound{1 / 1.1: c.twice, 0.8: c.rate} {
			for _, bad := range slices.Sorted(maps.Keys(bounds)) {
				o := badRounds(bad).fate(c.rounds, rate, tries)
				share := func(n int) float64 { return 100 * float64(n) / tries }
				t.Logf("| %d | %.0f %% | %.0f %% | %.0f %% | %.0f %% | %.1f %% | %.0f %% |", c.rounds, 100*rate, 100*bad,
					share(o.slower), share(o.tied), share(o.recommended), share(o.none))
				if want := bounds[bad]; share(o.slower) < want.slower || share(o.recommended) > want.recommended {
					t.Errorf("%d rounds, %.0f %% bad, rate %.2f: %+v of %d; want it called slower in %.0f %% at least, recommended in %.1f %% at most",
						c.rounds, 100*bad, rate, o, tries, want.slower, want.recommended)
				}
			}
		}
	}
}

// TestTwiceTheMargin: with the rounds that a default run plans, a lock that is slower by
// twice the margin is called slower in 95 % of the runs, on a machine that repeats within
// 2 % and on which one round in fifty is bad, and one that is as fast in under 5 %, with
// fewer rounds too.
func TestTwiceTheMargin(t *testing.T) {
	const tries = 4000
	among, _ := levels(4, 13)
	planned := PlannedRounds(func(yield func(harness.Lock, harness.Workload) bool) {
		for _, l := range choice17(1, 1, 1, 1) {
			if !yield(l.lock, harness.Workload{Workers: 16}) {
				return
			}
		}
	}, "")
	for _, c := range []struct {
		rounds      int
		ratio       float64
		bad         float64
		least, most float64 // share of the runs that call it slower
	}{
		{planned, 1.1, 0, 0.95, 1}, {planned, 1.1, 0.02, 0.95, 1}, {planned, 1.1, 0.05, 0.85, 1},
		{planned, 1, 0.02, 0, 0.001}, {planned, 1.05, 0.02, 0, 0.01},
		{10, 1.1, 0.02, 0, 0.9}, // so fewer rounds would not do
	} {
		rng := rand.New(rand.NewPCG(7, uint64(c.rounds)))
		slower, good := 0, 0
		for range tries {
			rates := badRounds(c.bad).draw(rng, c.rounds, []float64{1, 1 / c.ratio})
			switch stat.Paired(rates[0], rates[1], among).Read(stat.DefaultMargin) {
			case stat.Slower:
				slower++
			case stat.AsGood:
				good++
			}
		}
		share := float64(slower) / tries
		t.Logf("%d rounds, %.0f %% bad, %.2f times as slow: slower in %.1f %%, shown to be as good in %.1f %%", c.rounds, 100*c.bad, c.ratio, 100*share, 100*float64(good)/tries)
		if share < c.least || share > c.most {
			t.Errorf("%d rounds, %.0f %% bad: a lock that takes %.2f times as long is called slower in %.3f of the runs, want %v to %v", c.rounds, 100*c.bad, c.ratio, share, c.least, c.most)
		}
	}
}

// TestNoFalseClaims draws runs of equal locks, 4 for use and 13 kept for
// reference. In less than 5 % of them may the leader be faster than another lock
// for use, or any of the 13 faster than any of the 4, whatever the noise.
func TestNoFalseClaims(t *testing.T) {
	const tries, pool, rivals = 500, 4, 13
	among, aside := levels(pool, rivals)
	for _, w := range []weather{
		{name: "even", noise: normal(0.05)},
		{name: "drift and bad rounds", noise: normal(0.05), common: 0.1, drift: 0.9, bad: 0.1, badBy: 0.5},
		{name: "noise and worse rounds", noise: normal(0.3), common: 0.2, drift: 0.9, bad: 0.2, badBy: 0.3},
		{name: "every other round is bad", noise: normal(0.02), bad: 0.5, badBy: 0.5},
		{name: "heavy tails", noise: func(rng *rand.Rand) float64 { return 0.02 * rng.NormFloat64() / math.Abs(rng.NormFloat64()) }},
		{name: "skewed", noise: func(rng *rand.Rand) float64 { return -0.2 * rng.ExpFloat64() }},
	} {
		for _, rounds := range []int{12, 16, 24} {
			rng := rand.New(rand.NewPCG(11, uint64(rounds)))
			claims := 0
			for range tries {
				rates := w.draw(rng, rounds, slices.Repeat([]float64{1}, pool+rivals))
				leader := slices.MaxFunc(rates[:pool], func(a, b []float64) int {
					return cmp.Compare(stat.Summarize(a).Median, stat.Summarize(b).Median)
				})
				claim := false
				spent := float64(stat.Pairs(pool, 0)) * (1 - stat.Paired(rates[0], rates[1], among).Confidence)
				aside := min(aside, 1-(0.05-spent)/(pool*rivals))
				for _, x := range rates[:pool] {
					claim = claim || stat.Paired(leader, x, among).Greater()
					for _, r := range rates[pool:] {
						claim = claim || stat.Paired(r, x, aside).Greater()
					}
				}
				if claim {
					claims++
				}
			}
			share := 100 * float64(claims) / tries
			t.Logf("%s, %d rounds: %.1f %% of runs of equal locks claim a difference", w.name, rounds, share)
			if share > 5 {
				t.Errorf("%s, %d rounds: %.1f %% of runs of equal locks claim a difference, want 5 %% at most", w.name, rounds, share)
			}
		}
	}
}
