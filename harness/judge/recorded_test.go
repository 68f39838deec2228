package judge

import (
	"bufio"
	"compress/gzip"
	"embed"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"locklab/harness/result"
	"locklab/internal/machine"
	"locklab/internal/stat"
)

// The rates of the default choice, by block, on a virtual machine (AMD EPYC, two virtual
// processors, Linux 6.18, Go 1.26.8): 12 rounds while it was idle, and 11 next to two busy
// processes, which took 38 % of the processors. These two commands record another:
//
//	locklab run --locks default --budget 2m15s --out DIR
//	locklab export DIR --format rates | gzip -9n >harness/judge/testdata/quiet.jsonl.gz
//
//go:embed testdata/quiet.jsonl.gz testdata/busy.jsonl.gz
var recordings embed.FS

func readRecorded(t *testing.T, name string) *result.Run {
	t.Helper()
	file, err := recordings.Open("testdata/" + name + ".jsonl.gz")
	requireNoError(t, err)
	unzipped, err := gzip.NewReader(file)
	requireNoError(t, err)
	run := &result.Run{Manifest: result.Manifest{Machine: machine.Environment{CPUs: 2, GOMAXPROCS: 2}}}
	in := bufio.NewScanner(unzipped)
	for in.Scan() {
		record, err := result.Decode(in.Bytes())
		requireNoError(t, err)
		run.Results = append(run.Results, record.Result)
		run.Manifest.Rounds = max(run.Manifest.Rounds, record.Result.Round+1)
	}
	if in.Err() != nil {
		t.Fatal(in.Err())
	}
	return run
}

// A noise is the deviations of the ratios of one situation, by lock and round, from the
// median of the lock.
type noise struct {
	name string
	own  [][]float64
}

// noises returns the noise of each situation of a recorded run.
func noises(t *testing.T, recording string) (out []noise) {
	run := readRecorded(t, recording)
	for _, s := range MainSituations(Groups(run)) {
		n := noise{name: recording + ", " + s.Name()}
		pool := s.candidates()
		base := s.reference(pool)
		for _, x := range pool {
			xs, ys := Pairs(x.cell, base.cell, s.Metric())
			if x.Series == base.Series || len(xs) < run.Manifest.Rounds {
				continue
			}
			for i := range xs {
				xs[i] /= ys[i]
			}
			median := stat.Median(xs)
			for i := range xs {
				xs[i] /= median
			}
			if slices.Min(xs) > 0 {
				n.own = append(n.own, xs)
			}
		}
		if len(n.own) > 3 {
			out = append(out, n)
		}
	}
	return out
}

// draw returns synthetic ratios of locks with the given true ones. A lock has the noise of one
// recorded lock, of its own if mixed, and half of it inverted: locks are equal only if their
// disturbances are alike, and then a ratio and its inverse are equally likely.
func (n noise) draw(rng *rand.Rand, rounds int, mixed bool, ratios []float64) [][]float64 {
	out, own := make([][]float64, len(ratios)), n.own[rng.IntN(len(n.own))]
	for i, ratio := range ratios {
		if mixed {
			own = n.own[rng.IntN(len(n.own))]
		}
		for range rounds {
			x := own[rng.IntN(len(own))]
			if rng.IntN(2) == 0 {
				x = 1 / x
			}
			out[i] = append(out[i], ratio*x)
		}
	}
	return out
}

// TestRecordedNoise uses the noise of the recorded runs. A table of 16 locks that equal the
// baseline, with one, two and 16 workers, shows a difference in 5 % of runs, or fewer. The log has
// the share of columns that find a slower lock. The others call it noisy, not equivalent.
func TestRecordedNoise(t *testing.T) {
	const locks, rounds, tries = 16, 11, 300
	ones := slices.Repeat([]float64{1}, rounds)
	read := func(drawn [][]float64) []Significance {
		rs := result.Each(drawn, func(xs []float64) stat.Ratio { return stat.Paired(xs, ones, stat.Level(3*(locks-1))) })
		return result.Each(stat.Moderate(rs), func(r stat.Ratio) Significance { return compared(result.Throughput, r, 0.05).Reading })
	}
	for _, recording := range []string{"quiet", "busy"} {
		columns := noises(t, recording)
		for _, mixed := range []bool{false, true} {
			rng, wrong := rand.New(rand.NewPCG(17, 3)), 0
			for range tries {
				if slices.ContainsFunc(columns[:3], func(n noise) bool {
					return slices.ContainsFunc(read(n.draw(rng, rounds, mixed, slices.Repeat([]float64{1}, locks-1))), Significance.Significant)
				}) {
					wrong++
				}
			}
			t.Logf("%s: equal locks differ in %.1f %% of tables", recording, 100*float64(wrong)/tries)
			if wrong > tries*3/40 { // two standard errors above 5 %
				t.Errorf("%s: %d of %d tables of equal locks show a difference", recording, wrong, tries)
			}
		}
		for _, n := range columns {
			rng, found, equal := rand.New(rand.NewPCG(17, 3)), make([]int, 3), 0
			slower := append([]float64{0.9, 0.8, 0.7}, slices.Repeat([]float64{1}, locks-4)...)
			for range tries {
				for i, s := range read(n.draw(rng, rounds, true, slower))[:3] {
					if s.Significant() {
						found[i]++
					} else if s == Equivalent {
						equal++
					}
				}
			}
			t.Logf("%s: found: 0.9 in %d %%, 0.8 in %d %%, 0.7 in %d %%", n.name, 100*found[0]/tries, 100*found[1]/tries, 100*found[2]/tries)
			if found[2] == 0 || equal > tries/50 {
				t.Errorf("%s: a lock at 0.7 of the rate is found %d times, slower locks are equivalent %d times", n.name, found[2], equal)
			}
		}
	}
}

// TestRecordedBlocks: a reference has more blocks in a pass than the locks that equal it, and still
// a column of these shows a difference in at most 5 % of runs, whether rounds are few or many.
func TestRecordedBlocks(t *testing.T) {
	const locks, passes, tries = 16, 2, 100
	rng, rates := rand.New(rand.NewPCG(5, 11)), make(map[string][]uint64)
	for _, r := range readRecorded(t, "quiet").Results {
		if r.Blocks == nil || r.Workload.Workers != locks || r.Lock.Traits.Needs != "" {
			continue
		}
		for i, ops := range r.Blocks.Ops {
			if ns := uint64(r.Blocks.Elapsed[i]); ns > 0 {
				name := r.Lock.Name + "/" + r.Workload.Name()
				rates[name] = append(rates[name], ops*1e9/ns)
			}
		}
	}
	wrong := make(map[int]int) // by rounds
	for _, name := range slices.Sorted(maps.Keys(rates)) {
		draw := func(turns int) *result.Result {
			b := new(result.Blocks)
			for i := range passes * turns {
				b.Passes, b.Elapsed, b.Handovers = append(b.Passes, i/turns), append(b.Elapsed, 1e9), append(b.Handovers, 0)
				b.Ops = append(b.Ops, rates[name][rng.IntN(len(rates[name]))])
			}
			return &result.Result{Blocks: b}
		}
		for try := range 2 * tries {
			rounds := 11 + try%2*30
			column := func(turns int) *Cell {
				c := &Cell{Rounds: make(map[int]*result.Result)}
				for round := range rounds {
					c.Rounds[round] = draw(turns)
					c.Rounds[round].Round = round
				}
				return c
			}
			for i, reference := 1, column(4); i < locks; i++ {
				xs, ys := Pairs(column(1), reference, result.Throughput)
				if r := stat.Paired(xs, ys, stat.Level(locks-1)); r.Less() || r.Greater() {
					wrong[rounds]++
					break
				}
			}
		}
	}
	if t.Logf("equal locks differ in columns: %v", wrong); max(wrong[11], wrong[41]) > len(rates)*tries/20 {
		t.Errorf("of %d columns of equal locks these show a difference: %v", len(rates)*tries, wrong)
	}
}
