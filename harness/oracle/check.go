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
	NotProven LinearVerdict = "not proven" // inconclusive: see Result.Why
)

// LinearOptions limit the work. The zero value has the defaults given at its fields.
type LinearOptions struct {
	Operations int           // of a window: larger windows are not proven; 0 is 10,000
	Indefinite int           // operations of a window without an end; 0 is 8
	Clients    int           // of a window; 0 is 64
	Timeout    time.Duration // for a window; 0 is 2 s
	Total      time.Duration // for all; the rest is not proven; 0 is 30 s
}

func (o LinearOptions) filled() LinearOptions {
	o.Operations = cmp.Or(o.Operations, 10_000)
	o.Indefinite = cmp.Or(o.Indefinite, 8)
	o.Clients = cmp.Or(o.Clients, 64)
	o.Timeout = cmp.Or(o.Timeout, 2*time.Second)
	o.Total = cmp.Or(o.Total, 30*time.Second)
	return o
}

// A LinearWindow is a part of a history, from the first call in it to the last return, in ns on
// the clock of the history.
type LinearWindow struct {
	From, To   int64
	Operations int
}

// A LinearResult is the outcome for the windows of a history.
type LinearResult struct {
	Verdict LinearVerdict
	Windows int // that the history was cut into
	Decided int // of these

	Violated LinearWindow // the first violated one, if any
	Why      []string     // for each window that is not proven, up to 8, the reason
}

const mostReasons = 8

// CheckLinear decides whether a lock with rules r could have made the history that was
// judged by the same rules. It stops at the first violated window.
func CheckLinear(j *Judgement, r Rules, o LinearOptions) LinearResult {
	return checkLinear(j, r, o, few)
}

func checkLinear(j *Judgement, r Rules, o LinearOptions, size int) LinearResult {
	o = o.filled()
	r.Permits = max(1, r.Permits)
	windows := cut(operations(j, r), o, size)
	res := LinearResult{Verdict: Proven, Windows: len(windows)}
	state := start()
	deadline := time.Now().Add(o.Total)
	for _, w := range windows {
		verdict, why := w.check(state, r, o, deadline)
		state = w.after(state)
		switch verdict {
		case Violated:
			res.Verdict, res.Violated = Violated, w.LinearWindow
			res.Decided++
			return res
		case NotProven:
			res.Verdict = NotProven
			if len(res.Why) < mostReasons {
				res.Why = append(res.Why, fmt.Sprintf("%v to %v: %s", since(j, w.From), since(j, w.To), why))
			}
		default:
			res.Decided++
		}
	}
	return res
}

func since(j *Judgement, at int64) time.Duration { return time.Duration(at - j.Start) }

func (w *window) check(s state, r Rules, o LinearOptions, deadline time.Time) (LinearVerdict, string) {
	left := min(o.Timeout, time.Until(deadline))
	switch {
	case len(w.ops) > o.Operations:
		return NotProven, fmt.Sprintf("%d operations between two moments in which none was under way, and %d are the most that are tried", len(w.ops), o.Operations)
	case w.indefinite > o.Indefinite:
		return NotProven, fmt.Sprintf("%d operations without an end, and %d are the most that are tried", w.indefinite, o.Indefinite)
	case len(w.clients) > o.Clients:
		return NotProven, fmt.Sprintf("%d clients, and %d are the most that are tried", len(w.clients), o.Clients)
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
