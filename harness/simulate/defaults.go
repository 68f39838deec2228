//go:build systematic && simulate

package simulate

func (w Workload) withDefaults() Workload {
	if w.Turns == 0 {
		w.Turns = max(2000, 8*w.Workers)
	}
	if w.Warm == 0 {
		w.Warm = max(100, 3*w.Workers)
	}
	return w
}
