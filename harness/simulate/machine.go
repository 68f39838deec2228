package simulate

import (
	"errors"
	"fmt"

	"locklab/harness"
)

// A Machine describes the caches of a computer. Times are in nanoseconds. Its threads are
// numbered socket by socket, cluster by cluster, core by core, thread by thread. [List]
// returns the machines of the program; [Load] reads others.
// It has one field for each key of a machine file.
type Machine struct {
	Name         string `json:"name"`
	Doc          string `json:"doc"` // the modelled hardware
	Evidence     string `json:"evidence"`
	Hypothetical bool   `json:"hypothetical,omitempty"` // no machine of that size was measured

	GHz float64 `json:"ghz"` // for readers: the model does not use it

	Sockets  int `json:"sockets"`  // or dies, if the dies are far from each other
	Clusters int `json:"clusters"` // of cores that share a last-level cache, per socket
	Cores    int `json:"cores"`    // per cluster
	SMT      int `json:"smt"`      // threads per core

	Hit   float64 `json:"hit"`   // a load from the core's own cache
	Store float64 `json:"store"` // a store into the store buffer
	RMW   float64 `json:"rmw"`   // a locked instruction on a line that the core owns
	Fence float64 `json:"fence"` // from the last store's arrival to a locked instruction that waits for it
	Pause float64 `json:"pause"` // a spin hint
	Yield float64 `json:"yield"` // yielding the processor when no other thread wants it; 0 is Pause

	// Transfer is the time to get a line that another core has modified, by the location of
	// that core: the other thread, the cluster, the socket, another socket.
	Transfer [4]float64 `json:"transfer"`
	// Shared is the time to get a copy of an unmodified line, by the nearest copy.
	Shared [4]float64 `json:"shared"`
	// Upgrade is the time to own a line with copies, by the farthest; 0 is as Transfer.
	Upgrade [4]float64 `json:"upgrade"`
	Memory  float64    `json:"memory"` // a line that no cache has
	Occupy  float64    `json:"occupy"` // how long one copy delays the next request
	Ack     float64    `json:"ack"`    // per copy that a writer invalidates, beyond the first
	Window  float64    `json:"window"` // the share of a transfer after which the last owner learns of it
	Favour  int        `json:"favour"` // how often requests from the owner's socket go before older ones; 0 is first come, first served
	Jitter  float64    `json:"jitter"` // the latencies vary by this share, uniformly, to either side

	// Reach is how far, in ns of its own work, a core runs ahead of a load that
	// misses. A later independent miss starts within it. 0 is no overlap.
	Reach float64 `json:"reach"`
	// Sibling slows a thread while its core's other thread works; 0 and 1 are no slowdown.
	Sibling float64 `json:"sibling"`
	// Home is the extra time of a request that leaves the cluster, if the directory
	// of its line is on a socket that neither requests nor has the line.
	Home float64 `json:"home"`
	// Interleave spreads the homes of lines over all sockets in turn. Otherwise the
	// home of a line is the socket of the core that touches it first.
	Interleave bool `json:"interleave"`

	// Sources has the source of each number, or "guess" and the reason.
	Sources map[string]string `json:"sources"`
}

// The evidence for a machine other than its latencies: values of Machine.Evidence.
const (
	Fitted        = "fitted"         // some of its numbers are fitted to locks measured on such a machine
	HeldOut       = "held out"       // locks were measured on such a machine, and none of its numbers is fitted to them
	LatenciesOnly = "latencies only" // not compared with any published measurement of a lock on such a machine
)

// Caches and Threads return their numbers. Each core has one cache.
func (m *Machine) Caches() int  { return m.Sockets * m.Clusters * m.Cores }
func (m *Machine) Threads() int { return m.Caches() * m.SMT }

// Resize returns m with n cores (threads, if SMT) on s sockets, of the same kind:
// clusters keep their size if possible. The result is hypothetical.
func (m *Machine) Resize(n, s int) *Machine {
	r := *m
	perSocket := n / m.SMT / s
	r.Sockets, r.Cores = s, min(m.Cores, perSocket)
	if m.Clusters == 1 {
		r.Cores = perSocket
	}
	r.Clusters = (perSocket + r.Cores - 1) / r.Cores
	r.Hypothetical = true
	return &r
}

// ErrNotSimulated is wrapped by the errors of [CheckVariant].
var ErrNotSimulated = errors.New("simulate: not a lock that the model can run")

// CheckVariant returns the reason why the model cannot run v with that many workers, or nil.
func CheckVariant(v *harness.Variant, workers int) error {
	switch {
	case v.Local == nil || v.Family != harness.Spin:
		return fmt.Errorf("%w: %s is of the family %s, and only spin locks are made of the words that it sees", ErrNotSimulated, v.Name, v.Family)
	case v.Unavailable != "":
		return fmt.Errorf("%w: %s: %s", ErrNotSimulated, v.Name, v.Unavailable)
	case v.Traits.ReadWrite:
		return fmt.Errorf("%w: %s is for readers and writers", ErrNotSimulated, v.Name)
	case v.Traits.Permits > 1:
		return fmt.Errorf("%w: %s lets in %d workers at once", ErrNotSimulated, v.Name, v.Traits.Permits)
	case v.Traits.MaxWorkers > 0 && workers > v.Traits.MaxWorkers:
		return fmt.Errorf("%w: %s serves at most %d workers, not %d", ErrNotSimulated, v.Name, v.Traits.MaxWorkers, workers)
	}
	return nil
}

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
