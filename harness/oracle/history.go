package oracle

import (
	"cmp"
	"iter"
	"slices"
)

// An EventKind says what happened to a worker, or to what it depends on.
type EventKind string

// The kinds of events. A call of Lock is one of Asked and later one of Granted,
// Refused or Failed; a call of TryLock begins with Tried.
const (
	Asked     EventKind = "asked"     // before Lock was called
	Tried     EventKind = "tried"     // before TryLock was called
	Granted   EventKind = "granted"   // it returned a lease: Token, Deadline
	Refused   EventKind = "refused"   // it returned that another holds the lock
	Failed    EventKind = "failed"    // it returned another error, Text: whether the servers granted it is not known
	Told      EventKind = "told"      // the lease is over, and not because of a release: Text says why
	Releasing EventKind = "releasing" // before Unlock was called
	Released  EventKind = "released"  // it returned; Text is its error
	Wrote     EventKind = "wrote"     // the resource got a write of the holder, with its Token: Taken

	Paused  EventKind = "paused"  // the process of the worker was stopped
	Resumed EventKind = "resumed" // and continued
	Killed  EventKind = "killed"  // and ended
	Starved EventKind = "starved" // it did not run from At until Deadline, and nothing of the try had stopped it

	Fault EventKind = "fault" // something was done to a server or a connection: Text; Worker is -1
	Over  EventKind = "over"  // and undone
)

// An Event is a moment in the life of a lock, as seen by the worker that it
// happened to.
type Event struct {
	At       int64     `json:"at"`     // ns on the one clock of all events
	Worker   int       `json:"worker"` // -1 for events of no worker
	Kind     EventKind `json:"kind"`
	Shared   bool      `json:"shared,omitempty"`   // the worker reads beside others
	Token    uint64    `json:"token,omitempty"`    // 0 is none
	Deadline int64     `json:"deadline,omitempty"` // until when the lock is surely held, ns, 0 if there is no saying; Starved: when it ran again
	Taken    bool      `json:"taken,omitempty"`    // Wrote: a resource that refuses stale tokens took it
	Text     string    `json:"text,omitempty"`
}

// A History is what happened to one lock.
type History []Event

// Sort orders the events by time, and those of the same time as they stood.
func (h History) Sort() { slices.SortStableFunc(h, byTime) }

// sorted returns h if it is in that order, and else a copy that is: a long history is not
// copied in vain.
func (h History) sorted() History {
	if !slices.IsSortedFunc(h, byTime) {
		h = slices.Clone(h)
		h.Sort()
	}
	return h
}

// Each returns the events one after the other, as they stand.
func (h History) Each() iter.Seq[*Event] {
	return func(yield func(*Event) bool) {
		for i := range h {
			if !yield(&h[i]) {
				return
			}
		}
	}
}

func byTime(a, b Event) int { return cmp.Compare(a.At, b.At) }
