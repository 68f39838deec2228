package result

import "time"

// An OpenLoop is the outcome of the arrivals whose intended start is in the window. Starts are
// drawn in advance and waits count from them, so a lock that stalls delays every arrival of
// that time. A closed loop would not have made those requests.
type OpenLoop struct {
	Offered uint64        `json:"offered"` // arrivals
	Span    time.Duration `json:"span"`    // length of the time in which they were offered, in ns

	// Dropped counts the arrivals that did not have the lock by the deadline. Each
	// adds a wait of the deadline to Result.Wait and does not count in Ops.
	Dropped uint64 `json:"dropped,omitempty"`

	// Backlog counts the arrivals that were neither served nor dropped at the window's end.
	// Those without a worker add their wait until then to Result.Wait.
	Backlog uint64 `json:"backlog,omitempty"`

	// Late counts the arrivals that found all workers busy; their waits count, too.
	Late uint64 `json:"late,omitempty"`

	// Behind is the number of due arrivals that no worker had taken when the most
	// delayed one was taken.
	Behind uint64 `json:"behind,omitempty"`

	// Lag50 and Lag99 are quantiles of the loop's error, in ns: from the intended to the
	// actual start of requests with a waiting worker.
	Lag50 float64 `json:"lag_p50"`
	Lag99 float64 `json:"lag_p99"`
}
