package oracle

import (
	"cmp"
	"slices"
)

// An EventKind is a kind of event of a worker, or of its servers and connections.
type EventKind string

// The kinds of events. A call of Lock is an Asked and later a Granted, Refused or Failed.
const (
	Asked     EventKind = "asked"     // before Lock was called
	Tried     EventKind = "tried"     // before TryLock was called
	Granted   EventKind = "granted"   // it returned a lease: Token, Deadline
	Refused   EventKind = "refused"   // it returned that another client holds the lock
	Failed    EventKind = "failed"    // it returned another error, Text: the servers may have granted it or not
	Told      EventKind = "told"      // the lease ended without a release: Text is the reason, Deadline the latest read before
	Releasing EventKind = "releasing" // before Unlock was called
	Released  EventKind = "released"  // it returned; Text is its error
	Wrote     EventKind = "wrote"     // the resource received a write of the holder, with its Token: Taken

	Paused  EventKind = "paused"  // the process of the worker was stopped
	Resumed EventKind = "resumed" // and continued
	Killed  EventKind = "killed"  // and ended
	Starved EventKind = "starved" // it did not run from At until Deadline, without action by the try

	Fault EventKind = "fault" // something was done to a server or a connection: Text; Worker is -1
	Over  EventKind = "over"  // and undone
)

// An Event is a moment in the life of a lock, as seen by its worker.
type Event struct {
	At       int64     `json:"at"`     // ns on the one clock of all events
	Worker   int       `json:"worker"` // -1 for events of no worker
	Kind     EventKind `json:"kind"`
	Shared   bool      `json:"shared,omitempty"`   // the worker holds it as a reader
	Token    uint64    `json:"token,omitempty"`    // 0 is no token
	Deadline int64     `json:"deadline,omitempty"` // the time until which the lock is surely held, ns, 0 if unknown; Starved: when it ran again
	Taken    bool      `json:"taken,omitempty"`    // Wrote: a resource that refuses stale tokens accepted it
	Text     string    `json:"text,omitempty"`
}

// A History is the events of one lock.
type History []Event

// Sort orders the events by time, and keeps the order of events of the same time.
func (h History) Sort() { slices.SortStableFunc(h, byTime) }

func (h History) sorted() History {
	if !slices.IsSortedFunc(h, byTime) {
		h = slices.Clone(h)
		h.Sort()
	}
	return h
}

func byTime(a, b Event) int { return cmp.Compare(a.At, b.At) }

// An Anomaly is a kind of damage that a failure may do to the users of a lock.
type Anomaly string

// The anomalies. One try of a scenario may show any number of them.
const (
	// TwoHolders: the lock was granted while another client held it. That client had
	// neither released the lock nor received notice of its loss.
	TwoHolders Anomaly = "two holders"

	// StaleWrite: the resource accepted a write after one of a successor, though it rejects
	// tokens less than the greatest seen, if the lock has any.
	StaleWrite Anomaly = "stale write"

	// TokenFell: a later holder's token was not greater.
	TokenFell Anomaly = "token fell"

	// Stall: a free lock was not granted for longer than detection of the failure and
	// a handover take.
	Stall Anomaly = "stall"

	// Stuck: at the end of the try clients still waited for a free lock, or every
	// attempt to take it failed.
	Stuck Anomaly = "stuck"

	// LeftBehind: at the end of the try a key or a ticket remained of a client that
	// neither holds nor waits.
	LeftBehind Anomaly = "left behind"

	// Overtaken: a client was granted the lock before one that had waited longer,
	// although the lock claims to serve in order.
	Overtaken Anomaly = "overtaken"

	// Storm: waiting clients sent requests without a pause.
	Storm Anomaly = "storm"

	// Misled: a call returned a wrong result, such as a successful release of a lock not held,
	// or a Deadline after the next grant.
	Misled Anomaly = "misled"

	// Lost: a running holder lost the lock although its server ran and was reachable:
	// its lease was not renewed.
	Lost Anomaly = "lost"
)

// Anomalies lists every anomaly.
var Anomalies = []Anomaly{TwoHolders, StaleWrite, TokenFell, Stall, Stuck, LeftBehind, Overtaken, Storm, Misled, Lost}
