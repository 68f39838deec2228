package harness

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// A Workload describes the load on a lock. Each field is an axis of the lab; the zero
// value of an optional axis is its default.
type Workload struct {
	Workers int `json:"workers"` // goroutines that contend, over all ranks; at least 1

	// Clients is the number of Remotes that the workers of a remote lock share; 0
	// gives each worker its own. Local locks ignore it.
	Clients int `json:"clients,omitempty"`

	Hold  Span `json:"hold"`  // time inside the critical section
	Think Span `json:"think"` // time between release and the next request

	Wait WaitPolicy `json:"wait,omitempty"`
	Pin  Pin        `json:"pin,omitempty"`

	GOMAXPROCS int `json:"gomaxprocs,omitempty"` // 0 keeps the runtime's own choice

	// Reads is the percentage of acquisitions that only read. A lock without reader
	// sharing takes them as writes.
	Reads int `json:"reads,omitempty"`

	// Locks is the number of locks that the workers spread over, each acquisition at
	// random; 0 is one.
	Locks int `json:"locks,omitempty"`

	// Servers, Durable, TLS and Delay describe the servers of a remote lock and their
	// distance. Local locks reject them.
	//
	// Servers is the number of servers: the size of a ZooKeeper ensemble, a Redis
	// primary with replicas, or independent primaries for a lock that needs them
	// (Traits.Servers). 0 and 1 are one, or the number that the lock needs.
	Servers int `json:"servers,omitempty"`

	// Durable servers force each write to disk before they answer.
	Durable bool `json:"durable,omitempty"`

	// TLS encrypts the traffic between clients and servers.
	TLS bool `json:"tls,omitempty"`

	// Delay is added to each round trip between a client and a server, half on the
	// way there and half on the way back.
	Delay time.Duration `json:"delay,omitempty"`

	// Rate, if not 0, makes an open loop: all workers together request this many
	// acquisitions per second, at times drawn in advance. Any free worker takes an
	// arrival, so Workers bounds the arrivals in progress.
	Rate     Rate    `json:"rate,omitempty"`
	Arrivals Arrival `json:"arrivals,omitempty"` // of an open loop

	// Deadline, if not 0, drops an acquisition of an open loop that does not have the
	// lock this long after its intended start.
	Deadline time.Duration `json:"deadline,omitempty"`

	// Ranks is the number of processes, perhaps on several hosts, that share the
	// workers of a remote lock, its clients and its rate as evenly as possible. 0
	// and 1 are one.
	Ranks int `json:"ranks,omitempty"`

	// Garbage adds a goroutine that allocates, so that the garbage collector runs in
	// the window. Without it the collector does not run.
	Garbage bool `json:"garbage,omitempty"`

	// Section is the data that a local lock guards, one set for each lock, and the
	// worker's use of it in addition to Hold; the zero value has no data.
	Section Section `json:"section,omitempty"`

	Warmup time.Duration `json:"warmup"` // driven but not measured
	Window time.Duration `json:"window"` // measured
}

// Name returns the axes as benchmark name parts, such as "workers=8/hold=100ns": workers,
// then every axis that differs from its default, then hold. It never ends in "-digits".
func (w Workload) Name() string {
	parts := []string{fmt.Sprintf("workers=%d", w.Workers)}
	add := func(off bool, format string, v any) {
		if off {
			parts = append(parts, fmt.Sprintf(format, v))
		}
	}
	add(w.Ranks > 1, "ranks=%d", w.Ranks)
	add(w.Clients != 0, "clients=%d", w.Clients)
	add(w.Servers > 1, "servers=%d", w.Servers)
	add(w.Durable, "durable=%s", "on")
	add(w.TLS, "tls=%s", "on")
	add(w.Delay != 0, "delay=%s", Span{Mean: w.Delay})
	add(w.Wait != WaitAdaptive, "wait=%s", w.Wait)
	add(w.Pin != PinNone, "pin=%s", w.Pin)
	add(w.GOMAXPROCS != 0, "procs=%d", w.GOMAXPROCS)
	add(w.Reads != 0, "reads=%d%%", w.Reads)
	add(w.Locks > 1, "locks=%d", w.Locks)
	add(w.Garbage, "gc=%s", "on")
	add(w.Rate != 0, "rate=%s", w.Rate.name())
	add(w.Arrivals != Poisson, "arrivals=%s", w.Arrivals)
	add(w.Deadline != 0, "deadline=%s", Span{Mean: w.Deadline})
	add(w.Section != SectionWork, "section=%s", w.Section)
	add(w.Think.Mean != 0, "think=%s", w.Think)
	return strings.Join(append(parts, "hold="+w.Hold.String()), "/")
}

// RoundsOf returns how many of rounds measure w. An open loop is measured only in the
// first of every `every` rounds; a value below 2 is every round.
func (w Workload) RoundsOf(rounds, every int) int {
	if w.Rate == 0 || every < 2 {
		return rounds
	}
	return (rounds + every - 1) / every
}

// Pin is how workers are bound to processors.
type Pin string

// The pinning policies.
const (
	PinNone   Pin = ""       // plain goroutines, as services run them
	PinThread Pin = "thread" // each worker locked to an OS thread
	PinCPU    Pin = "cpu"    // each worker on a thread bound to one CPU, in topology order
)

// String returns the policy's name; "none" for the zero value.
func (p Pin) String() string { return cmp.Or(string(p), "none") }

// Limits of a workload. They keep a typing mistake from overloading the machine.
const (
	MaxWindow   = time.Hour   // of the window and the warm-up
	MaxDelay    = time.Second // leases and the timeouts for workers assume less
	MaxDeadline = maxSpan
	MaxRate     = Rate(1e8) // an arrival every 10 ns
	MaxRanks    = 1024

	maxWorkers = 8192
	maxLocks   = 1 << 16
	maxProcs   = 4096
	maxServers = 7

	// BucketLength is the time scale of the counts by worker. It is the shortest window of a local
	// lock in a budget, so that every window has a bucket.
	BucketLength = 20 * time.Millisecond
)

// The values of an axis, default first, and the families, in the order charts draw them.
var (
	WaitPolicies = []WaitPolicy{WaitAdaptive, WaitSpin, WaitPause, WaitYield, WaitSchedYield, WaitPark}
	Pins         = []Pin{PinNone, PinThread, PinCPU}
	Arrivals     = []Arrival{Poisson, Even}
	Families     = []Family{Spin, Blocking, ZooKeeper, Redis, Peer}
)

// Validate reports the first mistake in w as an error that wraps ErrUsage.
func (w Workload) Validate() (err error) {
	refuse := func(mistake bool, format string, args ...any) {
		if mistake && err == nil {
			err = fmt.Errorf("%w: "+format, append([]any{ErrUsage}, args...)...)
		}
	}
	refuse(w.Workers < 1 || w.Workers > w.mostWorkers(), "workers is %d: want 1 to %d", w.Workers, w.mostWorkers())
	w.validateRanks(refuse)
	refuse(w.Clients < 0 || w.Clients > w.Workers, "clients is %d: want 1 to the number of workers (%d), or 0 for one client each", w.Clients, w.Workers)
	refuse(w.Hold.check() != "", "hold is %s", w.Hold.check())
	refuse(w.Think.check() != "", "think is %s", w.Think.check())
	refuse(!slices.Contains(WaitPolicies, w.Wait), "wait is %q: want one of %v", w.Wait, WaitPolicies)
	refuse(!slices.Contains(Pins, w.Pin), "pin is %q: want one of %v", w.Pin, Pins)
	refuse(w.GOMAXPROCS < 0 || w.GOMAXPROCS > maxProcs, "gomaxprocs is %d: want 1 to %d, or 0 for the runtime's choice", w.GOMAXPROCS, maxProcs)
	refuse(w.Reads < 0 || w.Reads > 100, "reads is %d: want 0 to 100, a share in percent", w.Reads)
	refuse(w.Locks < 0 || w.Locks > maxLocks, "locks is %d: want 1 to %d", w.Locks, maxLocks)
	w.validateSection(refuse)
	refuse(w.Servers < 0 || w.Servers > maxServers || w.Servers > 0 && w.Servers%2 == 0,
		"servers is %d: want an odd number, so that a majority is more than a half, from 1 to %d", w.Servers, maxServers)
	refuse(w.Delay < 0 || w.Delay > MaxDelay, "delay is %v: want 0 to %v", w.Delay, MaxDelay)
	refuse(w.Warmup < 0 || w.Warmup > MaxWindow, "warmup is %v: want 0 to %v", w.Warmup, MaxWindow)
	refuse(w.Window <= 0 || w.Window > MaxWindow, "the measured window is %v: want more than 0, and %v at most", w.Window, MaxWindow)
	w.validateLoad(refuse)
	return err
}
