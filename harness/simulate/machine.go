package simulate

import (
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

// CheckVariant returns the reason why the model cannot run v with that many workers, or nil.
func CheckVariant(v *harness.Variant, workers int) error {
	switch {
	case v.Local == nil || v.Family != harness.Spin && v.Family != harness.Blocking:
		return fmt.Errorf("simulate: %s is of the family %s: only local locks are simulated", v.Name, v.Family)
	case v.Unavailable != "":
		return fmt.Errorf("simulate: %s: %s", v.Name, v.Unavailable)
	case v.Traits.ReadWrite:
		return fmt.Errorf("simulate: %s is for readers and writers", v.Name)
	case v.Traits.Permits > 1:
		return fmt.Errorf("simulate: %s lets in %d workers at once", v.Name, v.Traits.Permits)
	case v.Traits.MaxWorkers > 0 && workers > v.Traits.MaxWorkers:
		return fmt.Errorf("simulate: %s serves at most %d workers, not %d", v.Name, v.Traits.MaxWorkers, workers)
	}
	return seen(v)
}
