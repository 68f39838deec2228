package result

import (
	"time"

	"locklab/harness"
)

// CPU is the processor time of the measuring process, user and system, per acquisition, in ns.
// It shows the cost of polling, includes calibrated work, and never includes servers.
//
// Source: getrusage(2); as a cost of waiting: A. Karlin, K. Li, M. Manasse, S. Owicki,
// "Empirical Studies of Competitive Spinning for a Shared-Memory Multiprocessor", SOSP 1991.
var CPU = closed(metric("cpu", "cpu-ns/op", "processor time of the measuring process per acquisition", "Karlin et al. 1991", Lower,
	func(r *Result) (float64, bool) {
		v, ok := ratio(float64(r.CPU.Time), float64(r.Ops))
		return v, ok && r.CPU.Time > 0
	}))

// Switches is the voluntary context switches per acquisition, Preemptions the involuntary
// ones, of a polling waiter or of the holder. Allocs is the heap objects per acquisition.
//
// Source: getrusage(2).
var (
	Switches = closed(metric("switches", "switches/op", "voluntary context switches per acquisition", "getrusage(2), ru_nvcsw", Lower,
		own(func(c ClientCost) int64 { return c.Voluntary })))
	Preemptions = closed(metric("preemptions", "preemptions/op", "involuntary context switches per acquisition", "getrusage(2), ru_nivcsw", Lower,
		own(func(c ClientCost) int64 { return c.Involuntary })))
	Allocs = metric("allocs", "allocs/op", "heap objects allocated per acquisition", "Go runtime/metrics, /gc/heap/allocs:objects", Lower,
		own(func(c ClientCost) uint64 { return c.Allocs }))
)

func own[N int64 | uint64](of func(c ClientCost) N) reader {
	return func(r *Result) (float64, bool) {
		v, ok := ratio(float64(of(r.CPU)), float64(r.Ops))
		return v, ok && r.CPU != (ClientCost{})
	}
}

// Requests is the messages that the clients sent per acquisition, without keep-alives. It
// repeats to about ±0.1 even on a noisy machine, so it can gate a change when a time cannot.
//
// Source: the counting of messages per critical section of G. Ricart, A. Agrawala, "An
// Optimal Algorithm for Mutual Exclusion in Computer Networks", CACM 24(1), 1981.
var Requests = metric("requests", "reqs/op", "messages that the clients sent per acquisition", "Ricart & Agrawala 1981", Lower,
	wired(func(c *harness.Counts) uint64 { return c.Requests }))

// Notifications is the watch events and published messages per acquisition. More than one
// means that a release wakes clients that do not get the lock.
var Notifications = metric("notifications", "notifs/op", "messages that the servers sent unasked per acquisition", "Hunt et al. 2010", Lower,
	wired(func(c *harness.Counts) uint64 { return c.Notifications }))

func wired(of func(c *harness.Counts) uint64) reader {
	return func(r *Result) (float64, bool) {
		if r.Wire == nil {
			return 0, false
		}
		return ratio(float64(of(r.Wire)), float64(r.Ops))
	}
}

// ServerCPU is the processor time of the servers per acquisition: of all servers that the
// lock uses together. A lock whose waiters poll the server makes it work for nothing.
//
// Source: clock_getcpuclockid(3) of the server's process; getrusage(2) as reported by
// Redis INFO if the lab did not start the server.
var ServerCPU = metric("server-cpu", "server-cpu-ns/op", "processor time of the servers per acquisition", "clock_getcpuclockid(3); Redis INFO", Lower,
	onServers(func(c *ServerCost) *time.Duration { return c.CPU }, func(r *Result) int { return int(r.Ops) }))

// ServerMemory is the growth of the memory of the servers since before the lock had a
// client, per worker: for the connections, the lock and its queue.
//
// Source: used_memory of Redis INFO. ZooKeeper reports only the size of its heap, which
// is mostly garbage at any moment.
var ServerMemory = metric("server-memory", "server-bytes/worker",
	"growth of the memory of the servers per worker, for its connections and its place in the lock", "Redis INFO, used_memory", Lower,
	onServers(func(c *ServerCost) *int64 { return c.Memory }, countWorkers))

// Connections is the number of connections to the servers per worker while all contend.
//
// Source: connected_clients of Redis INFO; Connections of ZooKeeper's srvr.
var Connections = metric("connections", "conns/worker",
	"connections to the servers per worker while all contend", "Redis INFO, connected_clients; ZooKeeper srvr", Lower,
	onServers(func(c *ServerCost) *int64 { return c.Connections }, countWorkers))

func countWorkers(r *Result) int { return len(r.Workers) }

func onServers[N ~int64](of func(c *ServerCost) *N, count func(r *Result) int) reader {
	return func(r *Result) (float64, bool) {
		if r.Servers == nil || of(r.Servers) == nil {
			return 0, false
		}
		return ratio(float64(*of(r.Servers)), float64(count(r)))
	}
}

// Overlap is the share of the measured span during which all workers ran, in percent.
// Below 100, part of the figures comes from less contention than the workload promises.
//
// Source: full_concurrency_fraction of Arm's lockhammer,
// github.com/ARM-software/synchronization-benchmarks.
var Overlap = metric("overlap", "overlap-%", "share of the measured span during which all workers ran", "Arm lockhammer", Higher,
	func(r *Result) (float64, bool) { return 100 * r.Overlap, r.Overlap > 0 })

// The figures of an open loop. Its achieved rate is [Throughput]. The waits, from the intended
// start of an acquisition, are [P50], [P99] and [P999]. A closed loop has no such figures. An
// open loop has no figures of single workers: any free worker takes an arrival.

// Offered is arrivals per second of an open loop: the workload's rate, as drawn in this
// window.
//
// Source: open and closed systems in B. Schroeder, A. Wierman, M. Harchol-Balter, "Open
// Versus Closed: A Cautionary Tale", NSDI 2006.
var Offered = loaded("offered", "offered/s", "acquisitions per second that an open loop requested", "Schroeder, Wierman & Harchol-Balter 2006", "",
	func(r *Result) (float64, bool) {
		return float64(r.Open.Offered) / r.Open.Span.Seconds(), r.Open.Span > 0
	})

// Goodput is the granted share of an open loop's requests, in percent: acquisitions by the
// deadline over arrivals. It is a little above 100 if the window begins with more in progress
// than it ends with.
//
// Source: as [Offered]; the word is from S. Floyd, K. Fall, "Promoting the Use of End-to-End
// Congestion Control in the Internet", IEEE/ACM ToN 7(4), 1999.
var Goodput = loaded("goodput", "goodput-%", "rate granted by the deadline, if there is one, over the rate that an open loop requested", "Floyd & Fall 1999", Higher,
	func(r *Result) (float64, bool) {
		offered, ok := Offered.Of(r)
		granted, known := Throughput.Of(r)
		return 100 * granted / offered, ok && known && offered > 0
	})

// Behind reports whether an open loop granted under [LeastGoodput] percent, and left more
// arrivals than chance leaves at the end of a window of few.
func Behind(r *Result) bool {
	granted, ok := Goodput.Of(r)
	return ok && granted < LeastGoodput && r.Open.Backlog+r.Open.Dropped > fewWaiting
}

// Dropped is the share of the arrivals of an open loop that did not have the lock by the
// deadline of the workload, in percent.
//
// Source: the balking and reneging customers of queueing theory; F. Haight, "Queueing
// with Reneging", Metrika 2, 1959.
var Dropped = loaded("dropped", "dropped-%", "share of the arrivals of an open loop that had not got the lock by the deadline", "Haight 1959", Lower,
	func(r *Result) (float64, bool) { return ofArrivals(r, r.Open.Dropped) })

// Backlog is the number of arrivals of an open loop that were neither served nor dropped
// at the end of the window: if the lock does not keep up, it grows with the window.
//
// Source: as [Offered].
var Backlog = loaded("backlog", "backlog", "arrivals of an open loop that were waiting or being served as the window ended", "Schroeder, Wierman & Harchol-Balter 2006", Lower,
	func(r *Result) (float64, bool) { return float64(r.Open.Backlog), true })

// Late is the share of arrivals that found all workers busy, in percent. Their waits count
// from the intended start, but the lock did not see them in its queue then.
//
// Source: coordinated omission in G. Tene, "How NOT to Measure Latency", 2013: a load
// generator hides the requests that it does not send.
var Late = loaded("late", "late-%", "share of the arrivals of an open loop that found all workers busy", "Tene 2013", Lower,
	func(r *Result) (float64, bool) { return ofArrivals(r, r.Open.Late) })

// The limits for a lock to sustain a load. Beyond the saturation point, the saturation point of the
// curve of waits over the load, a lock fails them.
//
// Source: the saturation point of a delay curve in L. Kleinrock, "Power and Deterministic Rules of Thumb
// for Probabilistic Problems in Computer Communications", ICC 1979. We chose these two limits.
const (
	LeastGoodput = 95 // granted percent of the load
	MostSlowdown = 10 // p99 of the waits relative to an unloaded lock

	fewWaiting = 10 // arrivals at the end of a window that do not show that a lock falls behind
)

func ofArrivals(r *Result, n uint64) (float64, bool) {
	return 100 * float64(n) / float64(r.Open.Offered), r.Open.Offered > 0
}

func loaded(name, unit, doc, paper, better string, of reader) *Metric {
	return metric(name, unit, doc, paper, better, func(r *Result) (float64, bool) {
		if r.Open == nil {
			return 0, false
		}
		return of(r)
	})
}
