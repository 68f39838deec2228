package predict

import "math"

// solve returns the coefficients c that bring the sum over j of c[j]·x[i][j] nearest to
// y[i], relative to y[i], by least squares. ok is false if they are not determined, or if
// one is negative: no part of a cost is.
func solve(x [][]float64, y []float64) (c []float64, ok bool) {
	n := len(x[0])
	scale := make([]float64, n) // columns of thousands and of millionths lose digits together
	a := make([][]float64, n)   // the normal equations, with their right side
	for i := range x {
		for j, v := range x[i] {
			scale[j] = max(scale[j], math.Abs(v/y[i]))
		}
	}
	for j := range a {
		a[j] = make([]float64, n+1)
		for i := range x {
			v := x[i][j] / y[i] / scale[j]
			for k := range n {
				a[j][k] += v * x[i][k] / y[i] / scale[k]
			}
			a[j][n] += v
		}
	}
	if !eliminate(a) {
		return nil, false
	}
	for j := range a {
		v := a[j][n] / scale[j]
		if !(v >= 0) || math.IsInf(v, 1) {
			return nil, false
		}
		c = append(c, v)
	}
	return c, true
}

// eliminate solves the linear equations in the rows of a, whose right side is the last
// column, by Gauss-Jordan elimination. It returns false without a unique solution.
func eliminate(a [][]float64) bool {
	const none = 1e-10 // of a pivot: equations are scaled
	for j := range a {
		pivot := j
		for i := j; i < len(a); i++ {
			if math.Abs(a[i][j]) > math.Abs(a[pivot][j]) {
				pivot = i
			}
		}
		a[j], a[pivot] = a[pivot], a[j]
		if !(math.Abs(a[j][j]) > none) {
			return false
		}
		for k := len(a[j]) - 1; k >= j; k-- {
			a[j][k] /= a[j][j]
		}
		for i := range a {
			for k := len(a[i]) - 1; i != j && k >= j; k-- {
				a[i][k] -= a[i][j] * a[j][k]
			}
		}
	}
	return true
}

type term struct {
	name string // such as "for each contender"
	of   func(contenders float64) float64
}

// The terms. Constant work does not grow. A waiter's work or reading after every release
// grows with their number, or with its square if each also reads about all others. If
// waiters poll, the time until one of them asks is the pause divided by their number.
var (
	constant  = term{"constant", func(float64) float64 { return 1 }}
	perWaiter = term{"for each waiter", func(n float64) float64 { return n - 1 }}
	perPair   = term{"for each pair of waiters", func(n float64) float64 { return (n - 1) * (n - 1) }}
	shared    = term{"until one of the contenders asks", func(n float64) float64 { return 1 / n }}
)

// A law is a cost by the number of contenders: a sum of nonnegative terms.
type law struct {
	terms []term
	c     []float64 // of each term
}

func (l law) at(n float64) (sum float64) {
	for j, t := range l.terms {
		sum += l.c[j] * t.of(n)
	}
	return sum
}

type reading struct{ contenders, cost float64 }

// worthwhile is the greatest ratio of leave-one-out errors, with a further term to
// without it, that justifies the term: otherwise it follows the noise.
const worthwhile = 0.75

// calibrate returns the best law of some of the offered terms; the first ones are
// preferred. A set with a further term is taken only if it predicts each reading from the
// others clearly better. It returns false if no set fits.
func calibrate(readings []reading, offered ...term) (best law, ok bool) {
	least := math.Inf(1)
	for size := 1; size <= len(offered); size++ {
		before := least
		for _, terms := range choose(offered, size) {
			l, fits := fit(readings, terms)
			if !fits {
				continue
			}
			if e := leftOneOut(readings, terms); e < least && (!ok || len(best.terms) == size || e < worthwhile*before) {
				best, least, ok = l, e, true
			}
		}
	}
	return best, ok
}

func choose(ts []term, size int) (out [][]term) {
	if size == 0 {
		return [][]term{nil}
	}
	for i := range ts {
		for _, rest := range choose(ts[i+1:], size-1) {
			out = append(out, append([]term{ts[i]}, rest...))
		}
	}
	return out
}

func fit(readings []reading, terms []term) (law, bool) {
	if len(terms) == 0 || len(readings) <= len(terms) { // as many terms as readings follow any noise
		return law{}, false
	}
	var x [][]float64
	var y []float64
	for _, r := range readings {
		var row []float64
		for _, t := range terms {
			row = append(row, t.of(r.contenders))
		}
		x, y = append(x, row), append(y, r.cost)
	}
	c, ok := solve(x, y)
	return law{terms, c}, ok
}

// leftOneOut returns the root mean square of the relative errors of readings, each
// predicted from the others; infinite if impossible.
func leftOneOut(readings []reading, terms []term) float64 {
	var sum float64
	for i, r := range readings {
		l, ok := fit(without(readings, i), terms)
		if !ok {
			return math.Inf(1)
		}
		e := l.at(r.contenders)/r.cost - 1
		sum += e * e
	}
	return math.Sqrt(sum / float64(len(readings)))
}

func without[T any](xs []T, i int) []T {
	return append(append([]T(nil), xs[:i]...), xs[i+1:]...)
}
