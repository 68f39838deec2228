package harness

import (
	"slices"
	"time"
)

// A Harm is a kind of damage that a failure may do to the users of a lock.
type Harm string

// The harms. One try of a scenario may show any number of them.
const (
	// TwoHolders: the lock was granted while another client held it. That client had
	// neither released the lock nor received notice of its loss.
	TwoHolders Harm = "two holders"

	// StaleWrite: the resource accepted a write after one of a successor, though it rejects
	// tokens less than the greatest seen, if the lock has any.
	StaleWrite Harm = "stale write"

	// TokenFell: a later holder's token was not greater.
	TokenFell Harm = "token fell"

	// Stall: a free lock was not granted for longer than detection of the failure and
	// a handover take.
	Stall Harm = "stall"

	// Stuck: at the end of the try clients still waited for a free lock, or every
	// attempt to take it failed.
	Stuck Harm = "stuck"

	// LeftBehind: at the end of the try a key or a ticket remained of a client that
	// neither holds nor waits.
	LeftBehind Harm = "left behind"

	// Overtaken: a client was granted the lock before one that had waited longer,
	// although the lock claims to serve in order.
	Overtaken Harm = "overtaken"

	// Storm: waiting clients sent requests without a pause.
	Storm Harm = "storm"

	// Misled: a call returned a wrong result, such as a successful release of a lock not held.
	Misled Harm = "misled"

	// Lost: a running holder lost the lock although its server ran and was reachable:
	// its lease was not renewed.
	Lost Harm = "lost"
)

// Harms lists every harm.
var Harms = []Harm{TwoHolders, StaleWrite, TokenFell, Stall, Stuck, LeftBehind, Overtaken, Storm, Misled, Lost}

// A Guarantee is a promise that a scenario tests.
type Guarantee string

// The guarantees.
const (
	Failover Guarantee = "failover" // one holder, and not stuck, whichever server is lost
	Fencing  Guarantee = "fencing"  // a resource that checks tokens takes no stale write
	Ordered  Guarantee = "order"    // served in order of arrival
	Recovery Guarantee = "recovery" // free again after its holder or a waiter has died
)

// Guarantees lists every guarantee.
var Guarantees = []Guarantee{Failover, Fencing, Ordered, Recovery}

// Forbids returns the harms that break a guarantee.
func (g Guarantee) Forbids() []Harm {
	switch g {
	case Failover:
		return []Harm{TwoHolders, Stuck}
	case Fencing:
		return []Harm{StaleWrite, TokenFell}
	case Ordered:
		return []Harm{Overtaken}
	default:
		return []Harm{Stuck, LeftBehind}
	}
}

// A FaultResult is the outcome of some tries of one failure scenario on one lock. Like a
// Result it carries everything a page needs. Add combines results of the same scenario
// and lock.
// It has one field for each key of its line in results.jsonl.
type FaultResult struct {
	Scenario string      `json:"scenario"`
	Question string      `json:"question"` // ends with a question mark
	Fault    string      `json:"fault"`    // the injected fault, in one line
	Source   string      `json:"source"`   // first report or description of the fault
	Tests    []Guarantee `json:"tests,omitempty"`

	Lock     Lock        `json:"lock"`
	Expected Expectation `json:"expected"`

	// Skipped, if not empty, is the reason why the scenario was not tried on the lock.
	Skipped string `json:"skipped,omitempty"`

	Seed        uint64        `json:"seed"`
	Started     time.Time     `json:"started"`
	Elapsed     time.Duration `json:"elapsed"` // ns
	Interrupted bool          `json:"interrupted,omitempty"`

	// Tries counts the judged tries, and Seen the tries with each harm. Failed counts tries
	// without the fault, which the lab could not make, and Starved tries in which the machine
	// kept a process from running for long enough to explain the harm. Neither is part of
	// Tries. Together counts each exact set of harms; older files lack it: see Hurt.
	Tries    int          `json:"tries"`
	Seen     map[Harm]int `json:"seen,omitempty"`
	Together []Together   `json:"together,omitempty"`
	Failed   int          `json:"failed,omitempty"`
	Starved  int          `json:"starved,omitempty"`

	Published int `json:"-"` // of Tries, made in the project's own campaign

	// In ns. Window holds how long the lock was free before the next grant, Margin the time
	// from the notice of the loss to the next entry, negative if the entry came first, and
	// Overlap, for each try with two holders, the longest time that there were two.
	Window  []int64 `json:"window,omitempty"`
	Margin  []int64 `json:"margin,omitempty"`
	Overlap []int64 `json:"overlap,omitempty"`

	Figures   []FaultFigure `json:"figures,omitempty"`
	Aims      []FaultAim    `json:"aims,omitempty"`
	Histories []string      `json:"histories,omitempty"` // files next to the results
	Notes     []string      `json:"notes,omitempty"`     // the first of each kind
}

// Together is the number of tries that showed exactly these harms.
type Together struct {
	Harms []Harm `json:"harms"`
	Tries int    `json:"tries"`
}

// An Expectation is the predicted effect of a scenario on a lock, written before the
// scenario is tried.
type Expectation struct {
	Harms []Harm `json:"harms,omitempty"` // possible harms; empty is safe
	Why   string `json:"why,omitempty"`   // "" if there is no prediction for the lock
}

// A FaultFigure is an additional quantity of a scenario, one value per try.
type FaultFigure struct {
	Name   string    `json:"name"`
	Unit   string    `json:"unit,omitempty"`
	Values []float64 `json:"values"`
}

// A FaultAim is a limit for a quantile of the windows, the margins, or a member of Figures.
type FaultAim struct {
	Figure   string  `json:"figure"` // "window", "margin" or a name in Figures
	Quantile float64 `json:"quantile"`
	Least    bool    `json:"least,omitempty"` // the limit is a lower one
	Limit    float64 `json:"limit"`           // in the unit of the figure; ns for windows and margins
	Text     string  `json:"text"`            // in words, such as "session timeout + 1 s"
}

// Same reports whether r and s are of the same scenario and lock.
func (r *FaultResult) Same(s *FaultResult) bool {
	return r.Scenario == s.Scenario && r.Lock.Name == s.Lock.Name
}

// Hurt returns the number of tries that showed any of these harms: least at least, most
// at most. They differ only if two kinds were seen and Together does not cover all tries.
func (r *FaultResult) Hurt(harms []Harm) (least, most int) {
	known := true
	for _, h := range harms {
		n, told := min(max(r.Seen[h], 0), r.Tries), 0
		for _, t := range r.Together {
			if slices.Contains(t.Harms, h) {
				told += max(t.Tries, 0)
			}
		}
		known = known && told == n
		least, most = max(least, n), min(most+n, r.Tries)
	}
	if !known {
		return least, most
	}
	n := 0
	for _, t := range r.Together {
		if slices.ContainsFunc(t.Harms, func(h Harm) bool { return slices.Contains(harms, h) }) {
			n += max(t.Tries, 0)
		}
	}
	n = min(max(n, least), most)
	return n, n
}

// Add adds the tries of s, which is of the same scenario and lock, to r.
func (r *FaultResult) Add(s *FaultResult) {
	if s.Skipped != "" {
		return
	}
	if r.Skipped != "" {
		*r = *s
		return
	}
	r.Tries += s.Tries
	r.Failed += s.Failed
	r.Starved += s.Starved
	r.Published += s.Published
	r.Elapsed += s.Elapsed
	r.Interrupted = r.Interrupted || s.Interrupted
	seen := make(map[Harm]int, len(r.Seen))
	for _, tries := range []map[Harm]int{r.Seen, s.Seen} { // a newer lab may have other harms
		for h, n := range tries {
			seen[h] += n
		}
	}
	r.Seen = seen
	r.Together = slices.Clone(r.Together)
	for _, t := range s.Together {
		i := slices.IndexFunc(r.Together, func(u Together) bool { return slices.Equal(t.Harms, u.Harms) })
		if i < 0 {
			r.Together = append(r.Together, t)
			continue
		}
		r.Together[i].Tries += t.Tries
	}
	r.Window = append(slices.Clip(r.Window), s.Window...)
	r.Margin = append(slices.Clip(r.Margin), s.Margin...)
	r.Overlap = append(slices.Clip(r.Overlap), s.Overlap...)
	r.Figures = slices.Clone(r.Figures)
	for _, f := range s.Figures {
		i := slices.IndexFunc(r.Figures, func(g FaultFigure) bool { return g.Name == f.Name })
		if i < 0 {
			r.Figures = append(r.Figures, f)
			continue
		}
		r.Figures[i].Values = append(slices.Clip(r.Figures[i].Values), f.Values...)
	}
	r.Histories = append(slices.Clip(r.Histories), s.Histories...)
	for _, n := range s.Notes {
		if len(r.Notes) < mostNotes && !slices.Contains(r.Notes, n) {
			r.Notes = append(slices.Clip(r.Notes), n)
		}
	}
}

const mostNotes = 8
