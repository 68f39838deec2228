package simulate

import "fmt"

// A Number is a fitted number: its place in a machine, and the tried values.
type Number struct {
	Name string
	At   func(*Machine) *float64
	Try  []float64
}

// Unmeasured are the numbers that no experiment on a machine measures.
var Unmeasured = []Number{
	{"window", func(m *Machine) *float64 { return &m.Window }, []float64{0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5}},
	{"occupy", func(m *Machine) *float64 { return &m.Occupy }, []float64{3, 5, 7, 10, 14, 19, 26, 35, 45}},
}

// Nearest sets the numbers of m to the tried values with the least distance, and returns that.
// It varies the numbers one by one until none changes, from three starting points.
func Nearest(m *Machine, numbers []Number, distance func() (float64, error)) (least float64, err error) {
	known := make(map[string]float64)
	try := func() (float64, error) {
		key := fmt.Sprint(m.Window, m.Occupy, m.Upgrade)
		if _, ok := known[key]; !ok {
			if known[key], err = distance(); err != nil {
				return 0, err
			}
		}
		return known[key], nil
	}
	var best Machine
	for i, quarter := range []int{2, 1, 3} { // of each list, the starting point
		for _, n := range numbers {
			*n.At(m) = n.Try[len(n.Try)*quarter/4]
		}
		d, err := descend(m, numbers, try)
		if err != nil {
			return 0, err
		}
		if i == 0 || d < least {
			best, least = *m, d
		}
	}
	*m = best
	return least, nil
}

// descend sets one number of m after the other to the tried value at the least distance, until
// none changes. It returns the remaining distance.
func descend(m *Machine, numbers []Number, distance func() (float64, error)) (float64, error) {
	best, err := distance()
	for changed := true; changed && err == nil; {
		changed = false
		for _, n := range numbers {
			kept := *n.At(m)
			for _, x := range n.Try {
				*n.At(m) = x
				d, err := distance()
				if err != nil {
					return 0, err
				}
				if d < best {
					best, kept, changed = d, x, true
				}
			}
			*n.At(m) = kept
		}
	}
	return best, err
}
