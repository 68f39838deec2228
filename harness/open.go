package harness

import "time"

// An OpenLoop is the outcome of the arrivals of an open loop whose intended start is in
// the window. Start times are drawn in advance and do not depend on earlier arrivals;
// waits count from them. So a lock that stalls for a second delays every arrival of that
// second. In a closed loop those requests would not have been made.
type OpenLoop struct {
	Offered uint64        `json:"offered"` // arrivals
	Span    time.Duration `json:"span"`    // length of the time in which they were offered, in ns

	// Dropped counts the arrivals that did not have the lock by the deadline. Each
	// adds a wait of the deadline to Result.Wait and does not count in Ops.
	Dropped uint64 `json:"dropped,omitempty"`

	// Backlog counts the arrivals, including earlier than the window, that were
	// neither served nor dropped at its end. Those not yet taken by a worker add
	// their wait until then to Result.Wait.
	Backlog uint64 `json:"backlog,omitempty"`

	// Late counts the arrivals that found all workers busy: too few workers, or a
	// lock that did not keep up. The loop was not open for them. Their waits count
	// from the intended start, too.
	Late uint64 `json:"late,omitempty"`

	// Behind is the number of due arrivals that no worker had taken when the most
	// delayed one was taken.
	Behind uint64 `json:"behind,omitempty"`

	// Lag50 and Lag99 are the median and the 99th percentile, in ns, of the delay
	// between the intended and the actual start of requests for which a worker was
	// waiting: the error of the loop.
	Lag50 float64 `json:"lag_p50"`
	Lag99 float64 `json:"lag_p99"`
}
