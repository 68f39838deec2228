package stat

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

func TestSteps(t *testing.T) {
	nan := math.NaN()
	repeat := func(parts ...[]float64) []float64 { return slices.Concat(parts...) }
	low, high := []float64{10, 10.2, 9.9, 10.1, 9.8}, []float64{12, 12.1, 11.8, 12.2, 11.9}
	for _, c := range []struct {
		name string
		xs   []float64
		want []int
	}{
		{"no value", nil, nil},
		{"one level", repeat(low, []float64{10.05, 9.95, 10.15, 9.85, 10.3}), nil},
		{"a step", repeat(low, high), []int{5}},
		{"equal values", repeat(slices.Repeat([]float64{2}, 5), slices.Repeat([]float64{3}, 5)), []int{5}},
		{"all equal", slices.Repeat([]float64{2}, 12), nil},
		{"a run that is off", repeat(low, []float64{30}, []float64{10.05, 9.95, 10.15, 9.85}), nil},
		{"a step, then a run that is off", repeat(low, []float64{10.05, 9.95, 10.15}, high, []float64{11.7, 1, 12.3, 11.95}), []int{8}},
		{"with gaps", repeat(low, []float64{nan, nan}, high), []int{7}},
		{"four and four", []float64{1, 2, 3, 4, 5, 6, 7, 8}, []int{4}},
		{"three and four", []float64{1, 2, 3, 5, 6, 7, 8}, nil}, // 4 of 35 orders divide as well
		{"up and down", repeat(low, []float64{10.05, 9.95, 10.15}, high, []float64{12.3, 11.7, 12.05}, []float64{9.1, 9.2, 9.3, 9.4, 9.15, 9.25, 9.35, 9.45}), []int{8, 16}},
	} {
		var got []int
		for _, s := range Steps([][]float64{c.xs}, 0.05)[0] {
			got = append(got, s.At)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: steps at %v, want %v", c.name, got, c.want)
		}
	}
	if p := Steps([][]float64{{1, 2, 3, 4, 5, 6, 7, 8}}, 0.05)[0][0].P; math.Abs(p-2./70) > 1e-12 {
		t.Errorf("two of the 70 ways to part eight values in the middle are as clear: P is %v", p)
	}
	if n := MinSteps(0.05); n != 8 {
		t.Errorf("a step takes %d values, want 8", n)
	}
}

// TestStepsOfMany: sequences in random order have a step in at most 5 % of the tries.
func TestStepsOfMany(t *testing.T) {
	const tries, length, alpha = 120, 10, 0.05
	for _, together := range []bool{false, true} {
		random := rand.New(rand.NewPCG(7, 9))
		alarms := 0
		for range tries {
			seqs := make([][]float64, 3)
			days := make([]float64, length)
			for i := range days {
				days[i] = random.NormFloat64()
			}
			for i := range seqs {
				for k := range length {
					x := random.NormFloat64()
					if together {
						x = days[k] + 0.1*x
					}
					seqs[i] = append(seqs[i], x)
				}
			}
			if slices.ContainsFunc(Steps(seqs, alpha), func(s []Step) bool { return s != nil }) {
				alarms++
			}
		}
		// 6 are expected at most; more than 16 come up in one of 5000 seeds.
		if alarms > 16 {
			t.Errorf("together %v: a step in %d of %d tries", together, alarms, tries)
		}
	}
}

func TestFindTrend(t *testing.T) {
	for _, c := range []struct {
		name      string
		xs        []float64
		p, change float64
	}{
		{"nothing", nil, 1, 0},
		{"one", []float64{3}, 1, 0},
		{"three in order", []float64{1, 2, 3}, 2.0 / 6, 2},
		{"four in order", []float64{1, 3, 5, 7}, 2.0 / 24, 6},
		{"four down", []float64{7, 5, 3, 1}, 2.0 / 24, -6},
		{"one swap of four", []float64{1, 3, 2, 4}, 2 * 4.0 / 24, 3},
		{"constant", []float64{5, 5, 5, 5, 5}, 1, 0},
		// Kendall's own table has S = 15 of 6 values once in each direction.
		{"six in order", []float64{1, 2, 3, 4, 5, 6}, 2.0 / 720, 5},
		{"one wild value moves nothing", []float64{1, 1e9, 2, 3, 4, 5, 6, 7}, -1, 7},
	} {
		got := FindTrend(c.xs)
		if got.N != len(c.xs) || c.p >= 0 && math.Abs(got.P-c.p) > 1e-12 || math.Abs(got.Change-c.change) > 1 {
			t.Errorf("%s: got %+v, want P %v and change %v", c.name, got, c.p, c.change)
		}
	}
}

// TestTrendLevel draws values without a trend: P must be under 5 % in no more than 5 % of
// the draws. Equal values, as in a coarse figure, must not raise that.
func TestTrendLevel(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 9))
	const draws = 4000
	for _, coarse := range []bool{false, true} {
		for _, n := range []int{5, 12, exactTrend + 5} {
			found := 0
			for range draws {
				xs := make([]float64, n)
				for i := range xs {
					if xs[i] = rng.NormFloat64(); coarse {
						xs[i] = math.Round(xs[i])
					}
				}
				if FindTrend(xs).P < 0.05 {
					found++
				}
			}
			if share := float64(found) / draws; share > 0.06 {
				t.Errorf("n %d, coarse %v: a trend in %.1f %% of draws without one", n, coarse, 100*share)
			}
		}
	}
}

func TestTrendApproximation(t *testing.T) {
	for _, score := range []int{0, 100, 300, 500} {
		exact, close := kendall(exactTrend, score), kendall(exactTrend+1, score)
		if math.Abs(exact-close) > 0.02 {
			t.Errorf("score %d: %v and %v", score, exact, close)
		}
	}
}
