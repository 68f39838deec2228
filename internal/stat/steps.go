package stat

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
)

// A Step is a place at which the values of a sequence move to another level and stay there.
type Step struct {
	At int // index of the first value after it

	// P is the probability that some sequence would move as clearly at some place if
	// its values came in random order.
	P float64
}

const (
	// stepSide is the least values on either side of a step: a single one is an outlier.
	stepSide = 2

	// stepOrders is the number of random orders: P is a multiple of 1/10000.
	stepOrders = 9999

	// allOrders is the greatest number of values for which every order is tried.
	allOrders = 8
)

// Steps finds the steps of sequences of one length, such as the medians of the same runs by
// case. A NaN is missing. All steps at one level of the search are right together with
// probability 1 - alpha, if values without a step come in random order, for any distribution
// and dependence.
//
// A place divides a sequence into two parts of at least two values. Its score is the rank sum
// of one part, as in the test of Mann and Whitney, over the deviation of that sum. The
// candidate has the greatest score. Then all sequences get other orders, the same for each:
// all orders of up to 8 values, else the given one and 9999 random ones, always the same. P is
// the share of the orders in which the greatest score of any sequence reaches the candidate's.
// If it is less than alpha, both parts are searched.
//
// Sources: A. Pettitt, "A Non-Parametric Approach to the Change-Point Problem", Applied
// Statistics 28(2), 1979, for the scan by ranks; P. Westfall, S. Young, "Resampling-Based
// Multiple Testing", Wiley 1993, for the greatest score; B. Phipson, G. Smyth, "Permutation
// P-values Should Never Be Zero", Statistical Applications in Genetics and Molecular Biology
// 9(1), 2010, for the given order among the random ones; D. Matteson, N. James, "A
// Nonparametric Approach for Multiple Change Point Analysis of Multivariate Data", JASA 109,
// 2014, for orders and search in parts, by which MongoDB and Apache Otava find changes (D. Daly
// et al., ICPE 2020; M. Fleming et al., ICPE 2023). Ranks replace its distances here, so that
// an outlier weighs no more than another run.
func Steps(sequences [][]float64, alpha float64) [][]Step {
	s := &stepSearch{sequences: sequences, alpha: alpha, greatest: make(map[[2]int][]float64)}
	out := make([][]Step, len(sequences))
	for i, xs := range sequences {
		out[i] = s.in(xs, 0, len(xs))
	}
	return out
}

// MinSteps returns the fewest values with which [Steps] can find a clear step at alpha.
func MinSteps(alpha float64) int {
	for n := 2 * stepSide; ; n++ {
		rising := make([]float64, n)
		for i := range rising {
			rising[i] = float64(i)
		}
		s := &stepSearch{sequences: [][]float64{rising}, alpha: alpha, greatest: make(map[[2]int][]float64)}
		if _, score := scan(ranked(rising)); s.chance(0, n, score) < alpha || n == 100 {
			return n
		}
	}
}

type stepSearch struct {
	sequences [][]float64
	alpha     float64
	greatest  map[[2]int][]float64 // scores of all orders of a part, ascending
}

func (s *stepSearch) in(xs []float64, lo, hi int) []Step {
	at, score := scan(ranked(xs[lo:hi]))
	if score == 0 {
		return nil
	}
	p := s.chance(lo, hi, score)
	if p >= s.alpha {
		return nil
	}
	steps := append(s.in(xs, lo, lo+at), Step{lo + at, p})
	return append(steps, s.in(xs, lo+at, hi)...)
}

// chance returns the share of the orders of lo to hi whose greatest score reaches score.
func (s *stepSearch) chance(lo, hi int, score float64) float64 {
	part := [2]int{lo, hi}
	if s.greatest[part] == nil {
		s.greatest[part] = s.reorder(lo, hi)
	}
	all := s.greatest[part]
	const rounding = 1e-9
	below, _ := slices.BinarySearch(all, score-rounding)
	return float64(len(all)-below) / float64(len(all))
}

func (s *stepSearch) reorder(lo, hi int) (out []float64) {
	n := hi - lo
	rows := make([][]float64, len(s.sequences))
	for i, xs := range s.sequences {
		rows[i] = ranked(xs[lo:hi])
	}
	mixed := make([]float64, n)
	try := func(order []int) {
		most := 0.0
		for _, ranks := range rows {
			for i, k := range order {
				mixed[i] = ranks[k]
			}
			_, score := scan(mixed)
			most = max(most, score)
		}
		out = append(out, most)
	}
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	if n <= allOrders {
		permute(order, n, try)
	} else {
		try(order)
		random := rand.New(rand.NewPCG(uint64(n), 1979))
		for range stepOrders {
			random.Shuffle(n, func(i, k int) { order[i], order[k] = order[k], order[i] })
			try(order)
		}
	}
	slices.Sort(out)
	return out
}

// permute calls f with every order of the first n of order. Source: B. Heap,
// "Permutations by Interchanges", The Computer Journal 6(3), 1963.
func permute(order []int, n int, f func([]int)) {
	if n <= 1 {
		f(order)
		return
	}
	for i := range n {
		permute(order, n-1, f)
		if n%2 == 0 {
			order[i], order[n-1] = order[n-1], order[i]
		} else {
			order[0], order[n-1] = order[n-1], order[0]
		}
	}
}

// ranked returns the ranks of xs, from 1; equal values share a rank, missing ones have NaN.
func ranked(xs []float64) []float64 {
	order := make([]int, 0, len(xs))
	ranks := make([]float64, len(xs))
	for i, x := range xs {
		ranks[i] = math.NaN()
		if !math.IsNaN(x) {
			order = append(order, i)
		}
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(xs[a], xs[b]) })
	for i := 0; i < len(order); {
		k := i + 1
		for k < len(order) && xs[order[k]] == xs[order[i]] {
			k++
		}
		for _, at := range order[i:k] {
			ranks[at] = float64(i+1+k) / 2
		}
		i = k
	}
	return ranks
}

// scan returns the place with the greatest score, as the index of the first value after
// it, and its score; 0 if no place has one.
func scan(ranks []float64) (at int, score float64) {
	n := 0
	for _, r := range ranks {
		if !math.IsNaN(r) {
			n++
		}
	}
	if n < 2*stepSide {
		return 0, 0
	}
	before, sum := 0, 0.0
	for i, r := range ranks {
		if math.IsNaN(r) {
			continue
		}
		after := n - before
		if before >= stepSide && after >= stepSide {
			a, m := float64(before), float64(n)
			off := sum - a*(m+1)/2
			if z := off * off / (a * (m - a) * (m + 1) / 12); z > score {
				at, score = i, z
			}
		}
		before, sum = before+1, sum+r
	}
	return at, score
}

// A Trend describes whether consecutive values rise or fall overall.
type Trend struct {
	N int // values

	// P is the probability that values in random order would rise or fall as clearly.
	P float64

	// Change is the rise of the line through the values from the first to the last:
	// the median slope of all pairs times the steps. It is negative if they fall.
	Change float64
}

// FindTrend tests xs, which are not NaN, for a trend. The test of Mann and Kendall counts
// the pairs in rising order and assumes nothing about the distribution. Its P is exact if
// no two values are equal and conservative otherwise. The slope is Theil and Sen's.
//
// Sources: H. Mann, "Nonparametric Tests Against Trend", Econometrica 13, 1945; M.
// Kendall, "Rank Correlation Methods", 1948; P. Sen, "Estimates of the Regression
// Coefficient Based on Kendall's Tau", JASA 63, 1968.
func FindTrend(xs []float64) Trend {
	t := Trend{N: len(xs), P: 1}
	if t.N < 2 {
		return t
	}
	score := 0
	var slopes []float64
	for j := range xs {
		for i := range j {
			switch {
			case xs[j] > xs[i]:
				score++
			case xs[j] < xs[i]:
				score--
			}
			slopes = append(slopes, (xs[j]-xs[i])/float64(j-i))
		}
	}
	slices.Sort(slopes)
	t.Change = middle(slopes) * float64(t.N-1)
	t.P = kendall(t.N, score)
	return t
}

// exactTrend is the most values with an exact P; above, the normal distribution is close.
const exactTrend = 60

// kendall returns the probability that the rising pairs of n values in random order
// exceed the falling ones, or the reverse, by at least score.
func kendall(n, score int) float64 {
	score = max(score, -score)
	if n > exactTrend {
		m := float64(n)
		deviation := math.Sqrt(m * (m - 1) * (2*m + 5) / 18)
		return min(1, math.Erfc(float64(max(0, score-1))/deviation/math.Sqrt2))
	}
	// shares[k] is the share of orders with k falling pairs: value i is inserted anywhere.
	shares := []float64{1}
	for i := 2; i <= n; i++ {
		next := make([]float64, len(shares)+i-1)
		for k, s := range shares {
			for before := range i {
				next[k+before] += s / float64(i)
			}
		}
		shares = next
	}
	p, pairs := 0.0, n*(n-1)/2
	for falling, s := range shares {
		if d := pairs - 2*falling; max(d, -d) >= score {
			p += s
		}
	}
	return min(1, p)
}
