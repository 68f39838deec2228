package harness

// A Simulation is what a model of a machine expects of a lock: no measurement.
// Figures are of several seeds. It is a type of its own, so that nothing takes it for
// a [Result].
type Simulation struct {
	Simulated    string `json:"simulated"`              // name of the machine
	Hypothetical bool   `json:"hypothetical,omitempty"` // no machine of that size was measured

	Sockets  int `json:"sockets"`
	Clusters int `json:"clusters"` // of cores that share a last-level cache, per socket
	Cores    int `json:"cores"`    // per cluster
	SMT      int `json:"smt"`      // hardware threads per core

	Lock    Lock       `json:"lock"`
	Workers int        `json:"workers"` // each on a hardware thread of its own
	Lines   int        `json:"lines"`   // cache lines that a critical section reads and writes
	Hold    float64    `json:"hold"`    // ns in the section beside that
	Think   float64    `json:"think"`   // ns between two acquisitions, varied by half to either side
	Wait    WaitPolicy `json:"wait"`
	Spread  bool       `json:"spread,omitempty"` // neighbours are on different sockets
	Seed    uint64     `json:"seed"`             // the first one
	Seeds   int        `json:"seeds"`

	PerTurn     Expected `json:"per_turn"`    // ns of the machine's time per acquisition, all workers together
	Handover    Expected `json:"handover"`    // ns from release to grant of another worker that waited already, mean
	Longest     Expected `json:"longest"`     // ns, longest wait
	Misses      Expected `json:"misses"`      // requests to the directory per acquisition
	Remote      Expected `json:"remote"`      // of them answered from another socket
	Invalidated Expected `json:"invalidated"` // copies per acquisition
	SameSocket  Expected `json:"same_socket"` // share of hand-overs that stay on the socket
	SameWorker  Expected `json:"same_worker"` // share of acquisitions by the last holder
	Jain        Expected `json:"jain"`        // 1 if all workers have as many acquisitions

	// Accuracy says how far the model was from measurements of such a lock on such a
	// machine, in one sentence; "" if that is not known.
	Accuracy string `json:"accuracy,omitempty"`
}

// An Expected is a figure of a model: the median of its seeds, the least and the greatest.
type Expected struct {
	Median float64 `json:"median"`
	Lo     float64 `json:"lo"`
	Hi     float64 `json:"hi"`
}
