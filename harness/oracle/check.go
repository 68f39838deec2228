package oracle

import (
	"cmp"
	"fmt"
	"time"

	"github.com/anishathalye/porcupine"
)

// A LinearVerdict is the conclusion about a history.
type LinearVerdict string

// The verdicts.
const (
	Proven    LinearVerdict = "proven"     // a lock could have done this
	Violated  LinearVerdict = "violated"   // no lock could
	NotProven LinearVerdict = "not proven" // inconclusive: see LinearResult.Why
)

// The limits of a window: larger ones are not proven.
const (
	mostOperations = 10_000
	mostIndefinite = 8 // operations without an end
	mostClients    = 64
)

// A LinearWindow is a part of a history, from the first call in it to the last return, in ns on
// the clock of the history.
type LinearWindow struct {
	From, To   int64
	Operations int
}

// A LinearResult is the outcome for the windows of a history.
type LinearResult struct {
	Verdict  LinearVerdict
	Violated LinearWindow // the first violated one, if any
	Why      string       // why the first window that is not proven is not
}

// CheckLinear decides whether a lock with rules r could have made the history that was
// judged by the same rules. It stops at the first violated window. A window that takes longer
// than most is not proven, nor are the windows left after total.
func CheckLinear(j *Judgement, r Rules, most, total time.Duration) LinearResult {
	return checkLinear(j, r, most, total, few)
}

func checkLinear(j *Judgement, r Rules, most, total time.Duration, size int) LinearResult {
	r.Permits = max(1, r.Permits)
	res := LinearResult{Verdict: Proven}
	var before state
	deadline := time.Now().Add(total)
	for _, w := range cut(operations(j, r), size) {
		verdict, why := w.check(before, r, min(most, time.Until(deadline)))
		before = w.after(before)
		switch verdict {
		case Violated:
			return LinearResult{Verdict: Violated, Violated: w.LinearWindow}
		case NotProven:
			res.Verdict, res.Why = NotProven, cmp.Or(res.Why, why)
		}
	}
	return res
}

func (w *window) check(s state, r Rules, left time.Duration) (LinearVerdict, string) {
	switch {
	case len(w.ops) > mostOperations:
		return NotProven, fmt.Sprintf("%d operations between two moments in which none was under way, more than %d", len(w.ops), mostOperations)
	case w.indefinite > mostIndefinite:
		return NotProven, fmt.Sprintf("%d operations without an end, more than %d", w.indefinite, mostIndefinite)
	case len(w.clients) > mostClients:
		return NotProven, fmt.Sprintf("%d clients, more than %d", len(w.clients), mostClients)
	case left <= 0:
		return NotProven, "the time for all was over"
	}
	switch porcupine.CheckOperationsTimeout(model(s, r), w.porcupine(), left) {
	case porcupine.Ok:
		return Proven, ""
	case porcupine.Illegal:
		return Violated, ""
	}
	return NotProven, fmt.Sprintf("not decided in %v", left.Round(time.Millisecond))
}
