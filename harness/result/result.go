package result

import (
	"math"
	"slices"
	"time"

	"locklab/harness"
	"locklab/harness/oracle"
)

// A Lock is the part of a Variant in a Result, so that a file can be drawn after its lock
// has been deleted.
type Lock struct {
	Name   string         `json:"name"`
	Doc    string         `json:"doc"`
	Paper  string         `json:"paper"`
	Family harness.Family `json:"family"`
	Status harness.Status `json:"status,omitempty"`
	Traits harness.Traits `json:"traits"`

	Complexity harness.Complexity `json:"complexity,omitempty"`
}

// Describe returns the Lock of v.
func Describe(v *harness.Variant) Lock {
	return Lock{v.Name, v.Doc, v.Paper, v.Family, v.Status, v.Traits, v.Complexity}
}

// A Result is the outcome of one round of one lock under one workload. All times are on
// the monotonic clock. Rates and counts cover the measured window, which starts after
// every worker has started and ends before any has stopped.
// It has one field for each key of its line in results.jsonl.
type Result struct {
	Lock     Lock             `json:"lock"`
	Workload harness.Workload `json:"workload"`
	Round    int              `json:"round"` // 0 is the first

	Started time.Time     `json:"started"` // wall clock, for humans only
	Elapsed time.Duration `json:"elapsed"` // the actual length of the window, in ns

	Ops     uint64   `json:"ops"`     // acquisitions in the window
	Workers []uint64 `json:"workers"` // acquisitions in the window by each worker

	// Handovers counts the acquisitions in the window whose predecessor was another
	// worker. Ops - Handovers is the number of reacquisitions by the last owner.
	Handovers uint64 `json:"handovers"`

	Wait     Histogram `json:"-"` // request to grant, 1 in SampleEvery, by chance
	Handover Histogram `json:"-"` // release to grant of another worker, 1 in SampleEvery, by chance

	// HandoverWait is request to grant of the acquisitions whose predecessor was another
	// worker, for distributed locks only. Reacquisitions wait for nothing and would hide these
	// waits.
	HandoverWait Histogram `json:"-"`

	// Hold and Think are from sampled acquisitions. A hold is from grant to release, with the
	// lab's work. A think includes think time and time without a processor.
	Hold  Spans `json:"hold,omitzero"`
	Think Spans `json:"think,omitzero"` // empty if the workload has no think time

	// Owners lists the workers that held the lock, in order: bursts of Burst
	// consecutive acquisitions, spread over the window.
	Owners []uint16 `json:"-"`
	Burst  int      `json:"burst"`

	// Ranks has the ranks of a case with several; a rank's own result has just its
	// own. Workers, Owners and BucketCounts of such a result cover its own workers.
	Ranks []Rank `json:"ranks,omitempty"`

	// Holds has a rank's acquisitions in the window in the order of grants, for the checks of
	// a merge, which keeps none. HoldsLost counts the holds not kept.
	Holds     []harness.Hold `json:"-"`
	HoldsLost uint64         `json:"holds_lost,omitempty"`

	// BucketCounts[s*len(Workers)+i] is the number of acquisitions that worker i finished in bucket
	// s, which lasts BucketLength; a shorter rest is left out. A worker counts what it
	// finished since its previous stop check in the bucket of the check. BucketCounts is empty with
	// fewer than two workers and in a window shorter than a bucket, and ends at [MaxNumbers].
	BucketCounts []uint32 `json:"-"`

	// Unserved is the longest time of the window without a finished acquisition of a
	// worker, between two of its checks; 0 if not measured.
	Unserved time.Duration `json:"unserved,omitempty"`

	// Open is the outcome of an open loop; nil for a closed one. Any free worker takes an
	// arrival, so counts per worker mean nothing and there are no Handovers, Owners or BucketCounts.
	Open *OpenLoop `json:"open,omitempty"`

	SampleEvery int     `json:"sample_every"` // latency is timed for one in this many acquisitions on average; 1 is every acquisition
	ClockFloor  float64 `json:"clock_floor"`  // ns: the least time between two readings of the clock
	ClockStep   float64 `json:"clock_step"`   // ns: the clock advances in steps of this
	Clock       string  `json:"clock"`        // which clock timed the samples

	// Transfer is the one-way time to move a word between processors by compare-and-swap, in
	// ns: the median right before and after the window, on the first two processors of the
	// workers. It is 0 if not measured: for remote locks, unbound threads, one processor,
	// or a machine that was too busy.
	Transfer float64 `json:"transfer,omitempty"`

	// RoundTrip is the time of a bare request to the lock's first server, in ns: the median of
	// requests one at a time over a separate connection, right before and after the window. It
	// is PING of Redis, or TIME if PING is forbidden, and exists "/" of ZooKeeper, a read
	// answered from memory; a write goes through the log and a majority. It is 0 if not
	// measured: for local locks, or without an answer in time.
	RoundTrip float64 `json:"round_trip,omitempty"`

	// Trips is the lock's use of the network, counted before the run; nil if unknown.
	// It is the same in every result of the lock in a run.
	Trips *Trips `json:"trips,omitempty"`

	// Overlap is the share of the measured span during which all workers ran, 0 to 1.
	Overlap float64 `json:"overlap"`

	// CPU is the cost to this process, servers not included. It is the zero value if
	// the workers ran in another process: see [harness.Variant.Loop].
	CPU ClientCost `json:"cpu"`

	Wire *harness.Counts `json:"wire,omitempty"` // in the window; nil for local locks

	// Servers is the cost to the servers; nil for local locks and if unknown.
	Servers *ServerCost `json:"servers,omitempty"`

	Noise *Noise `json:"noise,omitempty"` // disturbances of the machine in the window; nil if not measured

	// Retries describes, in a line each, earlier processes that were killed from outside.
	Retries []string `json:"retries,omitempty"`

	// Blocks has all rates measured in the same process; nil if the lock was alone there.
	Blocks *Blocks `json:"blocks,omitempty"`

	Violations []oracle.Violation `json:"violations,omitempty"`
	Warnings   []Warning          `json:"warnings,omitempty"`
}

// Blocks are short windows in which the locks of a workload took turns in one process, in an
// order drawn for each pass. Locks are compared by the ratios within a pass, which slower
// noise does not change. The last block is the window of the result. A result without a window has
// the sums of its blocks.
type Blocks struct {
	Process   uint64   `json:"process"`          // the same for all locks that took turns
	Passes    []int    `json:"passes,omitempty"` // by block; nil if each pass has one
	Elapsed   []int64  `json:"elapsed"`          // ns; 0 if the lock did not take part in the pass
	Ops       []uint64 `json:"ops"`              // acquisitions
	Handovers []uint64 `json:"handovers"`
}

// Valid reports whether b has all figures of each block.
func (b *Blocks) Valid() bool {
	n := len(b.Elapsed)
	return n == len(b.Ops) && n == len(b.Handovers) && (b.Passes == nil || n == len(b.Passes)) &&
		!slices.ContainsFunc(b.Elapsed, func(ns int64) bool { return ns < 0 })
}

// Ratios returns the rates of b divided by the rates of c for each pair of blocks in the same
// pass. figures selects acquisitions or handovers. A pair with neither is left out.
func (b *Blocks) Ratios(c *Blocks, figures func(*Blocks) []uint64) (out []float64) {
	for i := range b.Elapsed {
		for j := range c.Elapsed {
			if b.pass(i) != c.pass(j) || b.Elapsed[i] == 0 || c.Elapsed[j] == 0 {
				continue
			}
			if x, y := float64(figures(b)[i]), float64(figures(c)[j]); x+y > 0 {
				out = append(out, (x/float64(b.Elapsed[i]))/(y/float64(c.Elapsed[j])))
			}
		}
	}
	return out
}

// Firsts returns b with only the first block of each pass.
func (b *Blocks) Firsts() *Blocks {
	one := *b
	one.Elapsed = slices.Clone(b.Elapsed)
	for i := 1; i < len(one.Elapsed); i++ {
		if b.pass(i) == b.pass(i-1) {
			one.Elapsed[i] = 0
		}
	}
	return &one
}

func (b *Blocks) pass(block int) int {
	if b.Passes == nil {
		return block
	}
	return b.Passes[block]
}

// AddBlock adds a block to r, which is empty or the sum of other blocks.
func (r *Result) AddBlock(b *Result) {
	if r.Elapsed == 0 {
		*r = Result{Lock: b.Lock, Workload: b.Workload, Started: b.Started, Overlap: b.Overlap, Wire: b.Wire,
			SampleEvery: b.SampleEvery, Clock: b.Clock, ClockFloor: b.ClockFloor, ClockStep: b.ClockStep}
	} else {
		r.Overlap, r.Wire = min(r.Overlap, b.Overlap), addCounts(r.Wire, b.Wire)
	}
	r.Elapsed, r.Ops, r.Handovers = r.Elapsed+b.Elapsed, r.Ops+b.Ops, r.Handovers+b.Handovers
	r.Hold, r.Think, r.CPU = r.Hold.Merge(b.Hold), r.Think.Merge(b.Think), r.CPU.add(b.CPU)
}

// Spans is the number and total length of some spans.
type Spans struct {
	N   int64         `json:"n"`
	Sum time.Duration `json:"sum"` // ns
}

// Add counts one more span of ns nanoseconds.
func (s *Spans) Add(ns int64) { s.N++; s.Sum += time.Duration(ns) }

// Merge returns the spans of s and t together.
func (s Spans) Merge(t Spans) Spans { return Spans{s.N + t.N, s.Sum + t.Sum} }

// Mean returns the average length in ns; NaN without one.
func (s Spans) Mean() float64 {
	if s.N == 0 {
		return math.NaN()
	}
	return float64(s.Sum) / float64(s.N)
}

// A ClientCost is the cost of a window to the measuring process.
type ClientCost struct {
	Time        time.Duration `json:"time"`        // user and system
	Voluntary   int64         `json:"voluntary"`   // context switches while waiting
	Involuntary int64         `json:"involuntary"` // context switches by preemption
	Allocs      uint64        `json:"allocs"`      // heap objects
}

func (c ClientCost) add(d ClientCost) ClientCost {
	return ClientCost{Time: c.Time + d.Time, Voluntary: c.Voluntary + d.Voluntary, Involuntary: c.Involuntary + d.Involuntary, Allocs: c.Allocs + d.Allocs}
}

// A ServerCost is the cost of a window to all servers of a lock. A nil field is unknown.
type ServerCost struct {
	// CPU is the processor time of the servers in the window, user and system, in ns, by the
	// clocks of their processes. If the lab did not start them, the servers report it.
	CPU *time.Duration `json:"cpu,omitempty"`

	// Memory is the growth of the servers' allocated memory, in bytes, and Connections of
	// their clients, from before the lock's first client to right after the window, while all
	// contend.
	Memory      *int64 `json:"memory,omitempty"`
	Connections *int64 `json:"connections,omitempty"`
}

// A Histogram has counts of values in ascending order of value, such as latencies in
// nanoseconds. Its zero value is empty. The recorder makes it from fixed log-linear
// buckets with three significant figures (the layout of HdrHistogram), so every value is
// the top of its bucket.
type Histogram []Bucket

// A Bucket counts N observations; Value is the greatest value of the bucket.
type Bucket struct{ Value, N int64 }

// Count returns the number of observations.
func (h Histogram) Count() int64 {
	var n int64
	for _, b := range h {
		n += b.N
	}
	return n
}

// Quantile returns the smallest recorded value v such that at least a share q
// of the observations, 0 <= q <= 1, is at most v; NaN if h is empty.
func (h Histogram) Quantile(q float64) float64 {
	return h.reach(q, func(b Bucket) float64 { return float64(b.N) })
}

// TimeQuantile returns the smallest recorded value v such that the observations up to v
// add up to at least a share q of the total; NaN if h is empty. For waits, it is the wait
// that a worker is in at a random moment of its waiting.
func (h Histogram) TimeQuantile(q float64) float64 {
	return h.reach(q, func(b Bucket) float64 { return float64(b.Value) * float64(b.N) })
}

// reach returns the value up to which the buckets have a share q of all weight.
func (h Histogram) reach(q float64, weight func(Bucket) float64) float64 {
	var sum, seen float64
	for _, b := range h {
		sum += weight(b)
	}
	for _, b := range h {
		// Without the factor the product of the two floats may round up: 0.07 of 100 is 7.
		if seen += weight(b); seen >= q*sum*(1-1e-15) {
			return float64(b.Value)
		}
	}
	return math.NaN()
}

// Mean returns the average value; NaN if h is empty.
func (h Histogram) Mean() float64 {
	var sum float64
	for _, b := range h {
		sum += float64(b.Value) * float64(b.N)
	}
	return sum / float64(h.Count())
}

// Merge returns the observations of h and g together; nil if both are empty.
func (h Histogram) Merge(g Histogram) Histogram {
	out := slices.Grow(Histogram(nil), max(len(h), len(g)))
	for len(h) > 0 && len(g) > 0 {
		switch a, b := h[0], g[0]; {
		case a.Value < b.Value:
			out, h = append(out, a), h[1:]
		case a.Value > b.Value:
			out, g = append(out, b), g[1:]
		default:
			out, h, g = append(out, Bucket{a.Value, a.N + b.N}), h[1:], g[1:]
		}
	}
	return append(append(out, h...), g...)
}
