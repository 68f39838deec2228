package stat

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/aclements/go-moremath/stats"
	"golang.org/x/perf/benchmath"
)

func TestPaired(t *testing.T) {
	// Rounds that differ by a factor of 30, in which a is always 1.2 times b.
	var a, b []float64
	for i := range 10 {
		base := math.Pow(1.4, float64(i))
		a, b = append(a, 1.2*base*(1+0.001*float64(i))), append(b, base)
	}
	if c := Paired(a, b, 0.95); !c.Greater() || c.Less() || math.Abs(c.Median-1.2) > 0.01 {
		t.Errorf("paired: got %+v, want 1.2 and greater", c)
	}
	if c := Paired(b, a, 0.95); !c.Less() || c.Greater() {
		t.Errorf("turned round: got %+v, want less", c)
	}
	if c := Paired(a, a, 0.95); c.Greater() || c.Less() || !c.Enough() {
		t.Errorf("with itself: got %+v, want neither, from enough rounds", c)
	}
	few := MinRounds - 1
	if c := Paired(a[:few], b[:few], 0.95); c.Enough() || c.Greater() || c.N != few || c.Lo > c.Median || c.Hi < c.Median {
		t.Errorf("%d rounds: got %+v, want too few, with their range", few, c)
	}
	if c := Paired([]float64{0, 1, math.NaN()}, []float64{0, 0, 1}, 0.5); c.N != 1 || !math.IsInf(c.Median, 1) {
		t.Errorf("zeros: got %+v, want one infinite ratio", c)
	}
	if c := Paired(nil, nil, 0.95); c.Enough() || c.Greater() || c.Less() {
		t.Errorf("nothing: got %+v, want no verdict", c)
	}
}

// TestPairedIsTTest compares P with the t-test of the library, and the interval with P.
func TestPairedIsTTest(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	for range 2000 {
		n := MinRounds + random.IntN(30)
		a, b, logs := make([]float64, n), make([]float64, n), make([]float64, n)
		shift := 0.3 * random.Float64()
		for i := range n {
			logs[i] = shift + 0.3*random.NormFloat64()
			a[i] = float64(1 + random.IntN(6))
			b[i] = a[i] * math.Exp(logs[i])
		}
		level := []float64{0.9, 0.95, 0.999}[random.IntN(3)]
		e := Paired(b, a, level)
		test, err := stats.OneSampleTTest(stats.Sample{Xs: logs}, 0, stats.LocationDiffers)
		if err != nil || math.Abs(e.P-test.P) > 1e-9 {
			t.Fatalf("n = %d: p = %v, want that of %+v, error %v", n, e.P, test, err)
		}
		if out := e.Greater() || e.Less(); out != (e.P < 1-level) {
			t.Fatalf("n = %d, p = %v at level %v, interval %v to %v", n, e.P, level, e.Lo, e.Hi)
		}
	}
}

// TestPairedErrs: of equal cases at most 5 % differ, whether noise is normal, has outliers, or
// has two modes, and whether a round has one block or two.
func TestPairedErrs(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 8))
	for name, noise := range map[string]func() float64{
		"normal":   random.NormFloat64,
		"outliers": func() float64 { return math.Tan(math.Pi * (random.Float64() - 0.5)) },
		"modes":    func() float64 { return float64(random.IntN(2)) + 0.1*random.NormFloat64() },
	} {
		const runs = 800
		for _, c := range []struct{ rounds, blocks int }{{MinRounds, 1}, {12, 1}, {12, 2}} {
			wrong := 0
			for range runs {
				a := make([]float64, c.rounds)
				for i := range a {
					ratios := make([]float64, c.blocks)
					for k := range ratios {
						ratios[k] = math.Exp(noise() - noise())
					}
					a[i] = MedianRatio(ratios)
				}
				if r := Paired(a, slices.Repeat([]float64{1}, c.rounds), 0.95); r.Greater() || r.Less() {
					wrong++
				}
			}
			if share := float64(wrong) / runs; share > 0.08 { // four standard errors
				t.Errorf("%s, %+v: %.1f %% of equal cases differ", name, c, 100*share)
			}
		}
	}
}

func TestOddFigures(t *testing.T) {
	odd := [][]float64{nil, {0}, {0, 0, 0}, {1, 1, 1, 1, 1, 1}, {math.MaxFloat64, 1e-300}, {0, 1, 2, 3, 4, 5, 6}, {0, 0, 0, 0, 0, 0, 0}, {5e-324, 5e-324}}
	for _, a := range odd {
		for _, b := range odd {
			for _, level := range []float64{0.5, 0.95, 1 - 1e-15} {
				if e := Unpaired(b, a, level); !(e.P >= 0 && e.P <= 1) {
					t.Errorf("%v, %v: p = %v", a, b, e.P)
				}
				n := min(len(a), len(b))
				if e := Paired(b[:n], a[:n], level); !(e.P >= 0 && e.P <= 1) || e.N > 0 && !(e.Lo <= e.Median && e.Median <= e.Hi) {
					t.Errorf("%v, %v: got %+v", a, b, e)
				}
			}
		}
	}
}

func TestLevel(t *testing.T) {
	for cases, want := range map[int]float64{0: 0.95, 1: 0.95, 2: 0.95, 5: 0.995, 25: 1 - 0.05/300} {
		if level := Level(Pairs(cases)); math.Abs(level-want) > 1e-12 {
			t.Errorf("%d cases: level %v for all pairs, want %v", cases, level, want)
		}
	}
}

// TestLeaderIsChosen: among equal cases, the level for all pairs keeps false differences to
// the leader under 5 %; the level for the leader's comparisons does not.
func TestLeaderIsChosen(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	claims := func(k int, level float64) float64 {
		const draws = 1200
		found := 0
		for range draws {
			cases := make([][]float64, k)
			best := 0
			for i := range cases {
				for range 10 {
					cases[i] = append(cases[i], math.Exp(rng.NormFloat64()))
				}
				if Summarize(cases[i]).Median > Summarize(cases[best]).Median {
					best = i
				}
			}
			for i := range cases {
				if Paired(cases[best], cases[i], level).Greater() {
					found++
					break
				}
			}
		}
		return float64(found) / draws
	}
	for _, k := range []int{2, 5, 17} {
		if share := claims(k, Level(Pairs(k))); share > 0.069 { // three standard errors above 5 %
			t.Errorf("%d equal cases: %.1f %% of draws claim a difference", k, 100*share)
		}
	}
	if share := claims(17, Level(16)); share < 0.08 {
		t.Errorf("correcting for the comparisons with the leader alone gives %.1f %%; this test shows nothing", 100*share)
	}
}

func drawFigures(rng *rand.Rand, n int, scale float64) []float64 {
	xs := make([]float64, n)
	for i := range xs {
		xs[i] = scale * math.Exp(0.1*rng.NormFloat64())
	}
	return xs
}

func benchstatP(a, b []float64) float64 {
	sample := func(xs []float64) *benchmath.Sample {
		return benchmath.NewSample(slices.Clone(xs), &benchmath.DefaultThresholds)
	}
	return benchmath.AssumeNothing.Compare(sample(a), sample(b)).P
}

func TestUnpairedIsMannWhitney(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	apart := 0
	for range 400 {
		a, b := drawFigures(rng, 4+rng.IntN(9), 1.1), drawFigures(rng, 4+rng.IntN(9), 1)
		for _, level := range []float64{0.95, 0.99} {
			c := Unpaired(a, b, level)
			p := benchstatP(a, b)
			if c.P != p {
				t.Fatalf("P is %v, benchstat's %v", c.P, p)
			}
			if got := c.Greater() || c.Less(); got != (p <= 1-level+1e-12) {
				t.Fatalf("%d and %d rounds at %v: apart is %v, but p = %v; %+v", len(a), len(b), level, got, p, c)
			} else if got {
				apart++
			}
		}
	}
	if apart < 100 || apart > 700 {
		t.Errorf("%d of 800 were apart: this says nothing", apart)
	}
}

func TestUnpairedCovers(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	for _, c := range []struct {
		m, n  int
		level float64
	}{{6, 6, 0.95}, {10, 7, 0.99}, {31, 31, 0.95}} {
		missed := 0
		const tries = 1500
		for range tries {
			if got := Unpaired(drawFigures(rng, c.m, 3), drawFigures(rng, c.n, 2), c.level); !(got.Lo <= 1.5 && 1.5 <= got.Hi) {
				missed++
			}
		}
		if share := float64(missed) / tries; share > 1.6*(1-c.level) {
			t.Errorf("%+v: the factor is outside in %.1f %%", c, 100*share)
		}
	}
}

func TestUnpairedEdges(t *testing.T) {
	for name, c := range map[string]struct {
		a, b   []float64
		level  float64
		want   Summary
		enough bool
	}{
		"three and three": {[]float64{2, 2, 2}, []float64{1, 1, 1}, 0.95, Summary{2, 2, 2, 0.9, 3, false}, false},
		"four and four":   {[]float64{2, 2, 2, 2}, []float64{1, 1, 1, 1}, 0.95, Summary{2, 2, 2, 1 - 2.0/70, 4, false}, true},
		"zeros":           {[]float64{0, 0, 0, 0}, []float64{0, 0, 0, 0}, 0.95, Summary{1, 1, 1, 1 - 2.0/70, 4, false}, true},
		"one and one":     {[]float64{3}, []float64{2}, 0.95, Summary{1.5, 1.5, 1.5, 0, 1, false}, false},
	} {
		got := Unpaired(c.a, c.b, c.level)
		if math.Abs(got.Confidence-c.want.Confidence) < 1e-12 {
			got.Confidence = c.want.Confidence
		}
		if got.Summary != c.want || got.Enough() != c.enough {
			t.Errorf("%s: got %+v, want %+v", name, got, c.want)
		}
	}
	if got := Unpaired(nil, []float64{1}, 0.95); got.N != 0 || got.Enough() {
		t.Errorf("no rounds: got %+v", got)
	}
	if got := Unpaired([]float64{math.NaN()}, []float64{1}, 0.95); got.N != 0 {
		t.Errorf("a NaN: got %+v", got)
	}
	for level, want := range map[float64]int{0.95: 4, 0.99: 5, 0.999: 7} {
		for n, enough := range map[int]bool{want - 1: false, want: true} {
			if _, c := ratioRank(n, n, level); (c >= level) != enough {
				t.Errorf("%d rounds reach %v of %v, and %d are needed", n, c, level, want)
			}
		}
	}
}

func TestRatioRank(t *testing.T) {
	for _, c := range [][2]int{{1, 1}, {2, 3}, {4, 2}, {5, 5}, {6, 4}} {
		m, n := c[0], c[1]
		counts, all := make([]float64, m*n+1), 0.0
		for set := range 1 << (m + n) { // bit set: the value of that rank is of the first sample
			u, ones, zeros := 0, 0, 0
			for i := range m + n {
				if set>>i&1 == 1 {
					ones++
					u += zeros
				} else {
					zeros++
				}
			}
			if ones == m {
				counts[u]++
				all++
			}
		}
		for _, level := range []float64{0.3, 0.5, 0.9, 0.95, 0.99} {
			rank, want, below := 1, max(0, 1-2*counts[0]/all), 0.0
			for k := 1; k <= (m*n+1)/2; k++ {
				if below += counts[k-1] / all; 1-2*below >= level-1e-12 {
					rank, want = k, 1-2*below
				}
			}
			if got, confidence := ratioRank(m, n, level); got != rank || math.Abs(confidence-want) > 1e-12 {
				t.Errorf("%d and %d at %v: rank %d at %v, want %d at %v", m, n, level, got, confidence, rank, want)
			}
		}
	}
}

// TestRatioRankApproximation: exact and normal ranks agree within one in a hundred.
func TestRatioRankApproximation(t *testing.T) {
	const last = 50
	for _, level := range []float64{0.9, 0.95, 0.999} {
		exact, _ := ratioRank(last, last, level)
		next, confidence := ratioRank(last, last+1, level)
		mean, dev := float64(last*last)/2, math.Sqrt(float64(last*last*(2*last+1))/12)
		approximate := int(mean + 0.5 - math.Sqrt2*math.Erfinv(level)*dev)
		if d := exact - approximate; d < -exact/100 || d > exact/100 {
			t.Errorf("at %v: rank %d exactly, %d by approximation", level, exact, approximate)
		}
		if next < exact || confidence < level {
			t.Errorf("at %v: rank %d of %d and %d, rank %d at %v of one more", level, exact, last, last, next, confidence)
		}
	}
}

// TestModerate: variances that differ by a factor of 25 borrow less than equal ones, and few none.
func TestModerate(t *testing.T) {
	widths := func(noises ...float64) (out []float64) {
		random := rand.New(rand.NewPCG(2, 9))
		var rs []Ratio
		for _, noise := range noises {
			xs := make([]float64, 12)
			for i := range xs {
				xs[i] = math.Exp(noise * random.NormFloat64())
			}
			rs = append(rs, Paired(xs, slices.Repeat([]float64{1}, 12), 0.999))
		}
		for i, r := range Moderate(rs) {
			out = append(out, math.Log(r.Hi/r.Lo)/math.Log(rs[i].Hi/rs[i].Lo))
		}
		return out
	}
	for _, c := range []struct {
		noises []float64
		lo, hi float64 // bounds of the median width, relative to that of a lock alone
	}{
		{slices.Repeat([]float64{0.1}, 15), 0.7, 0.88},
		{[]float64{0.01, 0.01, 0.05, 0.05, 0.25, 0.25, 1.25, 1.25}, 0.93, 1.01},
		{[]float64{0.1, 0.1, 0.1}, 1, 1},
	} {
		if got := Median(widths(c.noises...)); got < c.lo || got > c.hi {
			t.Errorf("noises %v: intervals are %.2f times as wide", c.noises, got)
		}
	}
}
