package stat

// Jain returns the fairness index of xs, from 1/len(xs) (one has all) to 1 (all are
// equal): (Σx)² / (n · Σx²). It is 0 if all are 0.
//
// Source: R. Jain, D. Chiu, W. Hawe, DEC-TR-301, 1984.
func Jain[N int | int64 | float64](xs []N) float64 {
	var sum, squares float64
	for _, x := range xs {
		sum += float64(x)
		squares += float64(x) * float64(x)
	}
	if squares == 0 {
		return 0
	}
	return sum * sum / (float64(len(xs)) * squares)
}
