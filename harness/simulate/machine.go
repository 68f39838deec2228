package simulate

// A Machine is a description of the caches of a computer. Times are in
// nanoseconds. Its threads are numbered socket by socket, cluster by cluster,
// core by core, thread by thread. Those in the program are in [List]; others are
// read by [Load].
type Machine struct {
	Name         string `json:"name"`
	Doc          string `json:"doc"` // what it is modelled on
	Evidence     string `json:"evidence"`
	Hypothetical bool   `json:"hypothetical,omitempty"` // no machine of that size was measured

	GHz float64 `json:"ghz"` // for readers: the model does not use it

	Sockets  int `json:"sockets"`  // or dies, where those are what is far from each other
	Clusters int `json:"clusters"` // of cores that share a last-level cache, per socket
	Cores    int `json:"cores"`    // per cluster
	SMT      int `json:"smt"`      // threads per core

	Hit   float64 `json:"hit"`   // a load of what the core has
	Store float64 `json:"store"` // a store into the store buffer
	RMW   float64 `json:"rmw"`   // a locked instruction on a line that the core owns
	Fence float64 `json:"fence"` // from the last store's arrival to a locked instruction that waits for it
	Pause float64 `json:"pause"` // a spin hint
	Yield float64 `json:"yield"` // giving up the processor where no other thread wants it; 0 is Pause

	// Transfer is how long a line takes that a core has modified, by where that
	// core is: the other thread, the cluster, the socket, another socket.
	Transfer [4]float64 `json:"transfer"`
	// Shared is how long a copy takes of a line that no core has modified, by
	// where the nearest copy is.
	Shared [4]float64 `json:"shared"`
	// Upgrade is how long it takes to be the only one with a line of which there
	// are copies, by where the farthest copy is; 0 is as Transfer.
	Upgrade [4]float64 `json:"upgrade"`
	Memory  float64    `json:"memory"` // a line that no cache has
	Occupy  float64    `json:"occupy"` // how long one copy keeps the next request waiting
	Ack     float64    `json:"ack"`    // per copy that a writer invalidates, beyond the first
	Window  float64    `json:"window"` // the share of a transfer after which the last owner learns of it
	Favour  int        `json:"favour"` // how often requests from the owner's socket go before older ones; 0 is first come, first served
	Jitter  float64    `json:"jitter"` // the latencies vary by so much of themselves, evenly, to either side

	// Reach is how far, in ns of its own work, a core runs ahead of a load that
	// misses: a later miss that does not depend on it is on its way meanwhile. 0 is
	// that it stands still.
	Reach float64 `json:"reach"`
	// Sibling is the factor by which a thread's own work takes longer while the
	// other thread of its core works too; 0 and 1 are no longer.
	Sibling float64 `json:"sibling"`
	// Home is how much longer a request takes that leaves the cluster, if the
	// directory of its line is on a socket that neither asks nor has the line.
	Home float64 `json:"home"`
	// Interleave is that the homes of lines are on all sockets in turn. Otherwise
	// that of a line is the socket of the core that touches it first.
	Interleave bool `json:"interleave"`

	// Sources says of each number, by its name in the file, where it is from, or
	// "guess" and why.
	Sources map[string]string `json:"sources"`
}

// What is known of a machine beside its latencies: values of Machine.Evidence.
const (
	Fitted        = "fitted"         // some of its numbers are fitted to locks that were measured on such a machine
	HeldOut       = "held out"       // locks were measured on such a machine, and none of its numbers is fitted to them
	LatenciesOnly = "latencies only" // no published measurement of a lock on such a machine is set beside it
)

// Caches and Threads are how many there are. A cache is a core's.
func (m *Machine) Caches() int  { return m.Sockets * m.Clusters * m.Cores }
func (m *Machine) Threads() int { return m.Caches() * m.SMT }

// Resize returns m with n cores (threads, if SMT) on s sockets, of the same kind:
// clusters keep their size if they can. It is hypothetical.
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
