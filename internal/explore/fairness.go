//go:build systematic

package explore

// fairness stops waiting workers from running forever ahead of the worker that could end their
// wait. It is the fair scheduler of Madanlal Musuvathi and Shaz Qadeer, "Fair Stateless Model
// Checking", PLDI 2008, algorithm 1. When a worker yields for the second time, it lets all workers
// run first that were able to run in between but did not. Sets of workers are bits.
type fairness struct {
	n      int
	able   uint8             // as observed last
	by     int               // whose step came last; -1 once it has been observed
	before [MaxWorkers]uint8 // which must run before this worker does
	// Since the worker yielded last:
	always  [MaxWorkers]uint8 // which were able to run all the time
	stopped [MaxWorkers]uint8 // which it made unable to run
	ran     [MaxWorkers]uint8
}

func (f *fairness) init(n int) {
	f.n, f.by = n, -1
	for i := range f.ran {
		f.ran[i] = 1<<n - 1 // none is owed a run at the first yield
	}
}

func (f *fairness) steps(w int) {
	for i := range f.n {
		f.before[i] &^= 1 << w
		f.ran[i] |= 1 << w
	}
	f.by = w
}

func (f *fairness) observe(able uint8) {
	for i := range f.n {
		f.always[i] &= able
	}
	if f.by >= 0 {
		f.stopped[f.by] |= f.able &^ able
		f.by = -1
	}
	f.able = able
}

func (f *fairness) yields(w int, able uint8) {
	f.observe(able)
	f.before[w] |= (f.always[w] | f.stopped[w]) &^ f.ran[w]
	f.always[w], f.stopped[w], f.ran[w] = able, 0, 0
}

// behind returns which of the able must let another one of them go first.
func (f *fairness) behind(able uint8) (set uint8) {
	for i := range f.n {
		if f.before[i]&able != 0 {
			set |= 1 << i
		}
	}
	return set
}

// state returns a hash of the future-relevant state of the workers that have not returned.
func (f *fairness) state(alive uint8) uint64 {
	h := uint64(0)
	for i := range f.n {
		if alive&(1<<i) == 0 {
			continue
		}
		ran := f.ran[i] & alive
		stopped := f.stopped[i] & alive &^ ran
		always := f.always[i] & alive &^ ran &^ stopped
		h = mix(h, uint64(f.before[i]&alive)|uint64(always)<<8|uint64(stopped)<<16|uint64(ran)<<24)
	}
	return h
}
