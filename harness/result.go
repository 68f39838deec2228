package harness

import (
	"math"
	"slices"
	"time"
)

// A Lock is the part of a Variant that a Result keeps, so that a file can
// be drawn after its lock has been deleted.
type Lock struct {
	Name   string `json:"name"`
	Doc    string `json:"doc"`
	Paper  string `json:"paper"`
	Family Family `json:"family"`
	Status Status `json:"status"`
	Traits Traits `json:"traits"`

	Complexity Complexity `json:"complexity,omitempty"`
}

// SliceLength is the time scale of [Result.Slices]: the shortest window of a lock
// in this process that a budget takes, so that every window has one.
const SliceLength = 20 * time.Millisecond

// Describe returns the part of v that a Result keeps.
func (v *Variant) Describe() Lock {
	return Lock{v.Name, v.Doc, v.Paper, v.Family, v.Status, v.Traits, v.Complexity}
}

// A Result is what one round of one lock under one workload gave. All times
// are on the monotonic clock; rates and counts are of the measured window,
// which starts after every worker has started and ends before any has stopped.
type Result struct {
	Lock     Lock     `json:"lock"`
	Workload Workload `json:"workload"`
	Round    int      `json:"round"` // 0 is the first

	Started time.Time     `json:"started"` // wall clock, for humans only
	Elapsed time.Duration `json:"elapsed"` // the measured window as it was, in ns

	Ops     uint64   `json:"ops"`     // acquisitions in the window
	Workers []uint64 `json:"workers"` // acquisitions in the window by each worker

	// Handovers counts the acquisitions in the window whose predecessor was
	// another worker; Ops - Handovers is how often an owner took the lock
	// twice in a row.
	Handovers uint64 `json:"handovers"`

	Wait     Histogram `json:"-"` // request to grant, 1 in SampleEvery, by chance
	Handover Histogram `json:"-"` // release to grant of another worker, 1 in SampleEvery, by chance

	// HandoverWait is request to grant of the acquisitions in the window whose
	// predecessor was another worker, of locks kept by servers only. Where one
	// worker takes the lock again and again, most acquisitions wait for nothing, and
	// quantiles of Wait say little about the others.
	HandoverWait Histogram `json:"-"`

	// Where the rest of a sampled acquisition went, by the clock. A hold is
	// from grant to release and includes what the lab does in the section; a
	// think is what the workload asked for and the time in which the worker had
	// no processor.
	Hold  Spans `json:"hold,omitzero"`
	Think Spans `json:"think,omitzero"` // empty if the workload has no think time

	// Owners is which worker held the lock, in order: bursts of Burst consecutive
	// acquisitions, spread over the window.
	Owners []uint16 `json:"-"`
	Burst  int      `json:"burst"`

	// Ranks is what each rank did, of a case that has several, or of one of them only, if
	// this is its own result: then Workers, Owners and Slices are of its own workers.
	Ranks []Rank `json:"ranks,omitempty"`

	// Holds is every acquisition of a rank during its window, in the order of their
	// grants, by which a merge judges the lock over all ranks, and HoldsLost how many
	// more there were than are kept. A merged result has none.
	Holds     []Hold `json:"-"`
	HoldsLost uint64 `json:"holds_lost,omitempty"`

	// Slices is how many acquisitions each worker finished in each slice of the
	// window: of worker i in slice s, Slices[s*len(Workers)+i]. A slice lasts
	// SliceLength, the first begins with the window, and a rest that is shorter is
	// left out. A worker counts to the slice in which it checked whether it should
	// stop what it had finished since it checked before. There are none with fewer than
	// two workers, and in a window that is shorter than a slice.
	Slices []uint32 `json:"-"`

	// Unserved is the longest time of the window in which a worker finished no
	// acquisition, between two of its checks; 0 if that was not measured.
	Unserved time.Duration `json:"unserved,omitempty"`

	// Open is what became of the arrivals of an open loop; nil of a closed one. The
	// workers of an open loop are whichever were free, so it has no Handovers, Owners
	// or Slices, and nothing is to be concluded from which worker did what.
	Open *OpenLoop `json:"open,omitempty"`

	SampleEvery int     `json:"sample_every"` // latency is timed for one acquisition in so many on average; 1 is every acquisition
	ClockFloor  float64 `json:"clock_floor"`  // ns: the least time between two readings of the clock
	ClockStep   float64 `json:"clock_step"`   // ns: the clock advances in steps of this
	Clock       string  `json:"clock"`        // which clock timed the samples

	// Transfer is how long a word took from one processor to another by
	// compare-and-swap, one way, in ns: the median of samples taken right before
	// and right after the window, on the first two processors of the workers'
	// order. It is 0 if that was not measured: of remote locks, with one
	// processor, where threads cannot be bound, or because the machine was too
	// busy.
	Transfer float64 `json:"transfer,omitempty"`

	// RoundTrip is how long a bare request to the first server of the lock took,
	// from sending it to having the answer, in ns: the median of requests by one
	// connection of its own, one at a time, right before and right after the
	// window, bound to no processor. To Redis it is PING, or TIME where the user
	// may not send that; to ZooKeeper the exists of "/", a read, which the server
	// answers from its memory: a write goes through its log, and in an ensemble to
	// a majority, and takes longer. Where a lock has several independent servers,
	// the first stands for all. It is 0 if that was not measured: of locks in this
	// process, or because the server did not answer in time.
	RoundTrip float64 `json:"round_trip,omitempty"`

	// Trips is what the lock does with the network, counted before the run; nil if that
	// is not known. It is the same in every result of the lock in a run.
	Trips *Trips `json:"trips,omitempty"`

	// Overlap is the share of the measured span during which all workers ran,
	// 0 to 1.
	Overlap float64 `json:"overlap"`

	// CPU is the cost to this process, servers not included. It is the zero value if
	// the workers ran in another process: see [Variant.Loop].
	CPU CPU `json:"cpu"`

	Wire *Counts `json:"wire,omitempty"` // in the window; nil for local locks

	// Servers is what the window cost the servers of the lock; nil for local locks,
	// and where it is not known.
	Servers *ServerCost `json:"servers,omitempty"`

	Noise *Noise `json:"noise,omitempty"` // what disturbed the machine in the window; nil if it was not measured

	// Retries says of each process that was to measure this and gave no result,
	// because it was killed from outside, how it ended, in one line. The result
	// is that of the process after them.
	Retries []string `json:"retries,omitempty"`

	// Blocks are all measurements of the rate in the same process; nil if the lock was alone
	// there.
	Blocks *Blocks `json:"blocks,omitempty"`

	Violations []Violation `json:"violations,omitempty"`
	Warnings   []Warning   `json:"warnings,omitempty"`
}

// Blocks are short windows in which the locks of one workload took turns in one process, in
// an order drawn anew for each pass. Two locks are compared by the ratios of their blocks in
// the same pass: noise that is slower than a pass is in both. The last block is the window of
// the result.
type Blocks struct {
	Process   uint64   `json:"process"` // the same for the locks that took turns
	Elapsed   []int64  `json:"elapsed"` // ns, by pass
	Ops       []uint64 `json:"ops"`     // acquisitions
	Handovers []uint64 `json:"handovers"`
}

// Valid reports whether b has all figures of each pass.
func (b *Blocks) Valid() bool {
	return len(b.Elapsed) == len(b.Ops) && len(b.Handovers) == len(b.Ops) && !slices.ContainsFunc(b.Elapsed, func(ns int64) bool { return ns <= 0 })
}

// Spans is how long some spans took together. The zero value has none.
type Spans struct {
	N   int64         `json:"n"`
	Sum time.Duration `json:"sum"` // ns
}

// Add counts one more span of ns nanoseconds.
func (s *Spans) Add(ns int64) { s.N++; s.Sum += time.Duration(ns) }

// Merge returns the spans of s and t together.
func (s Spans) Merge(t Spans) Spans { return Spans{s.N + t.N, s.Sum + t.Sum} }

// Mean returns the average length in ns; NaN if there are none.
func (s Spans) Mean() float64 {
	if s.N == 0 {
		return math.NaN()
	}
	return float64(s.Sum) / float64(s.N)
}

// Overhead is what the lab itself costs a worker, in ns an acquisition, with a
// lock that does nothing and no contention.
type Overhead struct {
	Loop float64 `json:"turn"` // one iteration: counter, last owner, dispatch

	// Log is what the owner log adds to an acquisition that it keeps; to others
	// it adds a test. When the owner changes, the log's cache line moves along,
	// which is not in it.
	Log float64 `json:"log"`

	// Timing is what timing adds to an acquisition that is timed, which is one in
	// Result.SampleEvery.
	Timing float64 `json:"timing"`

	// Direct and Locker are the Lock and Unlock of a free test-and-set lock
	// with nothing around them: called directly, which lets the compiler inline
	// them as in a program that names its lock's type, and through sync.Locker,
	// as every measured acquisition of a local lock calls its lock. What lies
	// between them is the price of the indirection.
	Direct float64 `json:"direct,omitempty"`
	Locker float64 `json:"locker,omitempty"`
}

// CPU is what a window cost the measuring process.
type CPU struct {
	Time        time.Duration `json:"time"`        // user and system
	Voluntary   int64         `json:"voluntary"`   // context switches while waiting
	Involuntary int64         `json:"involuntary"` // context switches by preemption
	Allocs      uint64        `json:"allocs"`      // heap objects
}

// A ServerCost is what a window cost the servers that keep a lock, all of those
// together that the lock uses. What is nil is not known.
type ServerCost struct {
	// CPU is the processor time of the servers in the window, user and system, in
	// ns, by the clocks of their processes, or where the lab did not start them by
	// what they say.
	CPU *time.Duration `json:"cpu,omitempty"`

	// Memory and Connections are by how much the memory that the servers have
	// allocated, in bytes, and the clients that are connected to them were more
	// right after the window, while all workers still contended, than before the
	// lock had its first client.
	Memory      *int64 `json:"memory,omitempty"`
	Connections *int64 `json:"connections,omitempty"`
}

// A Violation is a broken promise. The rates of a Result with
// a Violation are not used.
type Violation struct {
	Rule   string `json:"rule"`   // "exclusion", "liveness", "fencing", "error", "crash"
	Detail string `json:"detail"` // what was seen, in one line
	Count  uint64 `json:"count"`  // how often, at least 1

	// Trace is the beginning of what the process said as it crashed, line by
	// line; nil unless it did.
	Trace []string `json:"trace,omitempty"`
}

// A Warning is evidence that a measurement is worth less than it seems. It
// travels with the Result.
type Warning struct {
	Text   string `json:"text"`   // what is wrong, with the figure
	Remedy string `json:"remedy"` // what to do about it

	// Kind is what the warning is about in one word, such as "governor": the
	// same for the same fault on every machine. It is "" where one need not be
	// told from another.
	Kind string `json:"kind,omitempty"`
}

// Noise is what disturbed the machine during a window. A share is of all the time
// of the processors that the process may use, or for Pressure of the window, from
// 0 to 1. What the system does not tell is -1, and 0 for Speed.
type Noise struct {
	Window     time.Duration `json:"window"`              // ns
	CPUs       int           `json:"cpus"`                // that the process may use, at the start or the end, whichever is less
	Limit      float64       `json:"cpu_limit,omitempty"` // processors that the control groups allow, likewise; 0 is no limit
	Governor   string        `json:"governor,omitempty"`  // frequency policy, of both ends if they differ
	Turbo      string        `json:"turbo,omitempty"`     // likewise
	Busy       int           `json:"busy,omitempty"`      // of these, those that the workers can use at a time; 0 is all
	Steal      float64       `json:"steal"`               // share that the host gave to other guests
	Others     float64       `json:"others"`              // share that other processes used
	Pressure   float64       `json:"pressure"`            // share in which some thread waited for a processor
	Throttled  int64         `json:"throttled"`           // times that a control group was stopped at its CPU limit
	Hot        int64         `json:"hot"`                 // times that a processor slowed down because of heat
	Migrations int64         `json:"migrations"`          // times that a thread of this process went on on another processor
	Speed      float64       `json:"speed"`               // of a processor after the window, over that before
}
