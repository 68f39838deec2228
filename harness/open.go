package harness

import "time"

// An OpenLoop is what became of the arrivals of an open loop whose intended start
// lies in the window. Such a loop asks for the lock at times that are drawn before,
// whatever became of those before, and waits count from these times: a lock that
// stands still for a second has delayed all that would have asked in that second.
// Workers that ask again only when they were served would not have asked.
type OpenLoop struct {
	Offered uint64        `json:"offered"` // arrivals
	Span    time.Duration `json:"span"`    // for how long they were offered, in ns

	// Dropped is how many had not got the lock by the deadline. Each counts in
	// Result.Wait as a wait of the deadline, and in Ops not at all.
	Dropped uint64 `json:"dropped,omitempty"`

	// Backlog is how many arrivals, of the time before the window too, were neither served
	// nor dropped as it ended. Those that no worker had taken by then count in Result.Wait
	// as having waited until then.
	Backlog uint64 `json:"backlog,omitempty"`

	// Late is how many found all workers busy: the loop was not open for them, because
	// workers were too few or the lock did not keep up. Their waits count from their
	// intended start like all others.
	Late uint64 `json:"late,omitempty"`

	// Behind is how many arrivals were due that no worker had taken, as one was taken that
	// was later than any other.
	Behind uint64 `json:"behind,omitempty"`

	// Lag50 and Lag99 are the median and the 99th percentile of how much later than
	// intended a request began that a worker waited for, in ns: the error of the loop itself.
	Lag50 float64 `json:"lag_p50"`
	Lag99 float64 `json:"lag_p99"`
}
