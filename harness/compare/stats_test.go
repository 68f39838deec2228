package compare

import (
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"

	"golang.org/x/perf/benchmath"
)

func near(a, b float64) bool { return math.Abs(a-b) < 1e-12 }

// TestHolm takes the example of textbooks.
func TestHolm(t *testing.T) {
	for _, c := range []struct{ in, want []float64 }{
		{nil, nil},
		{[]float64{0.03}, []float64{0.03}},
		{[]float64{0.01, 0.04, 0.03, 0.005}, []float64{0.03, 0.06, 0.06, 0.02}},
		{[]float64{0.5, 0.6, 1}, []float64{1, 1, 1}},
		{[]float64{0.02, 0.02}, []float64{0.04, 0.04}},
	} {
		if got := holm(slices.Clone(c.in)); !slices.EqualFunc(got, c.want, near) {
			t.Errorf("%v: got %v, want %v", c.in, got, c.want)
		}
	}
}

// TestDistributionU counts every way to deal ranks to two samples.
func TestDistributionU(t *testing.T) {
	for m := 1; m <= 6; m++ {
		for n := 1; n <= 6; n++ {
			want, ways := make([]float64, m*n+1), 0.0
			for deal := range 1 << (m + n) {
				if bits.OnesCount(uint(deal)) != m {
					continue
				}
				u, second := 0, 0 // pairs in which the first sample is greater
				for i := range m + n {
					if deal>>i&1 == 1 {
						u += second
					} else {
						second++
					}
				}
				want[u]++
				ways++
			}
			for u := range want {
				want[u] /= ways
			}
			if got := distributionU(m, n); !slices.EqualFunc(got, want, near) {
				t.Errorf("%d and %d: got %v, want %v", m, n, got, want)
			}
		}
	}
}

// TestUnpairedInterval: the interval is that of the test. It leaves 1 out if and
// only if the test rejects at its level, and it moves along with the sample.
func TestUnpairedInterval(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	draw := func(n int, scale float64) (xs []float64) {
		for range n {
			xs = append(xs, scale*math.Exp(0.1*random.NormFloat64()))
		}
		return xs
	}
	rejected, memo := 0, new(deals)
	for range 2000 {
		a, b := draw(4+random.IntN(12), 1), draw(4+random.IntN(12), 1+0.2*random.Float64())
		level := []float64{0.9, 0.95, 0.999}[random.IntN(3)]
		e := memo.unpaired(a, b, level)
		out := e.ratio.Lo > 1 || e.ratio.Hi < 1
		if rejects := e.p <= 1-level; e.enough && out != rejects {
			t.Fatalf("p = %v at level %v, interval %v to %v", e.p, level, e.ratio.Lo, e.ratio.Hi)
		}
		if out {
			rejected++
		}
		if e.enough && e.ratio.Confidence < level || e.ratio.Lo > e.ratio.Median || e.ratio.Median > e.ratio.Hi {
			t.Fatalf("%+v", e)
		}
		for i := range b {
			b[i] *= 3
		}
		if f := memo.unpaired(a, b, level); math.Abs(f.ratio.Median/e.ratio.Median-3) > 1e-9 || math.Abs(f.ratio.Hi/e.ratio.Hi-3) > 1e-9 {
			t.Fatalf("three times the sample: %+v and %+v", e, f)
		}
	}
	if rejected < 100 || rejected > 1900 {
		t.Errorf("%d of 2000 rejected: the test does not test both ways", rejected)
	}
}

// TestEnough: samples are too small exactly where the test cannot reject at all.
func TestEnough(t *testing.T) {
	for n := 1; n <= 9; n++ {
		var low, high []float64
		for i := range n {
			low, high = append(low, 1+float64(i)/100), append(high, 2+float64(i)/100)
		}
		s := func(xs []float64) *benchmath.Sample {
			return benchmath.NewSample(slices.Clone(xs), &benchmath.DefaultThresholds)
		}
		least := benchmath.AssumeNothing.Compare(s(low), s(high)).P
		for _, alpha := range []float64{0.5, 0.05, 0.005, 0.0005} {
			if e := new(deals).unpaired(low, high, 1-alpha); e.enough != (least <= alpha) {
				t.Errorf("%d rounds at %v: enough is %v, the least p is %v", n, alpha, e.enough, least)
			}
		}
	}
}

// TestNormalApproximation: at the border the exact rank and the approximation
// agree within one in a hundred.
func TestNormalApproximation(t *testing.T) {
	for _, level := range []float64{0.9, 0.95, 0.999} {
		exact, _ := new(deals).shiftRank(exactU, exactU, level)
		mean, dev := float64(exactU*exactU)/2, math.Sqrt(float64(exactU*exactU*(2*exactU+1))/12)
		approx := int(mean - math.Sqrt2*math.Erfinv(level)*dev - 0.5)
		if d := exact - approx; d < -exact/100 || d > exact/100 {
			t.Errorf("at %v: rank %d exactly, %d by approximation", level, exact, approx)
		}
		if rank, confidence := new(deals).shiftRank(exactU+1, 8, level); rank < 1 || confidence < level-0.01 {
			t.Errorf("at %v: rank %d, confidence %v", level, rank, confidence)
		}
	}
}

// TestPairedTest: the interval is that of the sign test.
func TestPairedTest(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	for range 2000 {
		n := 1 + random.IntN(30)
		a, b := make([]float64, n), make([]float64, n)
		for i := range n {
			a[i] = float64(1 + random.IntN(6)) // with ties
			b[i] = a[i] * []float64{0.8, 0.9, 1, 1.1}[random.IntN(4)]
		}
		level := []float64{0.9, 0.95, 0.999}[random.IntN(3)]
		e := paired(a, b, level)
		out := e.ratio.Lo > 1 || e.ratio.Hi < 1
		if rejects := e.p <= 1-level; e.enough && out != rejects {
			t.Fatalf("n = %d, p = %v at level %v, interval %v to %v", n, e.p, level, e.ratio.Lo, e.ratio.Hi)
		}
	}
	for _, c := range []struct {
		n, k int
		want float64
	}{{6, 0, 1.0 / 64}, {10, 1, 11.0 / 1024}, {4, 4, 1}, {5, 2, 0.5}, {2000, 999, 0.5 - 0.5*0.01783901114585}} {
		if got := binomialHalf(c.n, c.k); math.Abs(got-c.want) > 1e-9 {
			t.Errorf("at most %d of %d: %v, want %v", c.k, c.n, got, c.want)
		}
	}
}

// TestOddFigures: nothing that a file may hold makes the statistics panic.
func TestOddFigures(t *testing.T) {
	odd := [][]float64{nil, {0}, {0, 0, 0}, {1, 1, 1, 1, 1, 1}, {math.MaxFloat64, 1e-300}, {0, 1, 2, 3, 4, 5, 6}, {5e-324, 5e-324}}
	for _, a := range odd {
		for _, b := range odd {
			for _, level := range []float64{0.5, 0.95, 1 - 1e-15} {
				if e := new(deals).unpaired(a, b, level); !(e.p >= 0 && e.p <= 1) {
					t.Errorf("%v, %v: p = %v", a, b, e.p)
				}
				n := min(len(a), len(b))
				if e := paired(a[:n], b[:n], level); !(e.p >= 0 && e.p <= 1) {
					t.Errorf("%v, %v: p = %v", a, b, e.p)
				}
			}
		}
	}
}
