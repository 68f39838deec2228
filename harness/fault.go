package harness

import (
	"slices"
	"time"
)

// A Harm is what a failure may do to the users of a lock.
type Harm string

// The harms. A try of a scenario shows any number of them, or none.
const (
	// TwoHolders: the lock was granted while another client held it, which had
	// neither released it nor been told that it lost it.
	TwoHolders Harm = "two holders"

	// StaleWrite: the resource that the lock guards took a write of a holder after
	// it had taken one of its successor. If the lock has fencing tokens the resource
	// remembers the greatest and refuses lesser ones.
	StaleWrite Harm = "stale write"

	// TokenFell: a later holder had a token that was not greater.
	TokenFell Harm = "token fell"

	// Stall: clients waited for a free lock for longer than it takes to notice the
	// failure and to hand the lock over.
	Stall Harm = "stall"

	// Stuck: at the end of the try clients still waited for a free lock, or every
	// attempt to take it failed.
	Stuck Harm = "stuck"

	// LeftBehind: a key or a ticket of a client that neither holds nor waits was
	// still there at the end of the try.
	LeftBehind Harm = "left behind"

	// Overtaken: a client was granted the lock before one that had waited for it for
	// longer, though the lock claims to serve in order.
	Overtaken Harm = "overtaken"

	// Storm: clients that waited sent requests without a pause.
	Storm Harm = "storm"

	// Misled: a call said what was not so: an error that belonged to an earlier one, a
	// release of what was not held, a lock that was granted and reported as not.
	Misled Harm = "misled"

	// Lost: a holder that ran lost the lock, though the server that keeps it ran as well
	// and it could reach that: its lease was not renewed.
	Lost Harm = "lost"
)

// Harms lists every harm.
var Harms = []Harm{TwoHolders, StaleWrite, TokenFell, Stall, Stuck, LeftBehind, Overtaken, Storm, Misled, Lost}

// A Guarantee is what a scenario puts to the test.
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

// A FaultResult is what became of one lock in some tries of one failure scenario.
// Like a Result it carries all that a page needs. Results of the same scenario and
// lock add up: see Add.
type FaultResult struct {
	Scenario string      `json:"scenario"`
	Question string      `json:"question"` // ends with a question mark
	Fault    string      `json:"fault"`    // what is done, in one line
	Source   string      `json:"source"`   // where it was seen or described first
	Tests    []Guarantee `json:"tests,omitempty"`

	Lock     Lock        `json:"lock"`
	Expected Expectation `json:"expected"`

	// Skipped, if not empty, is why the scenario was not tried on the lock.
	Skipped string `json:"skipped,omitempty"`

	Seed        uint64        `json:"seed"`
	Started     time.Time     `json:"started"`
	Elapsed     time.Duration `json:"elapsed"` // ns
	Interrupted bool          `json:"interrupted,omitempty"`

	// Tries is how often the fault was made and judged, and Seen in how many of these
	// each harm was seen. Failed tries, in which the lab could not make the fault,
	// are not among them, nor Starved ones: there the machine kept a process, which
	// nothing had stopped, from running: a holder until the next one had entered, or
	// a client or a server for so long that without it there would be no harm.
	//
	// Together says in how many of them exactly which harms were seen, for any at all. A
	// file of before does not have it: see Hurt.
	Tries    int          `json:"tries"`
	Seen     map[Harm]int `json:"seen,omitempty"`
	Together []Together   `json:"together,omitempty"`
	Failed   int          `json:"failed,omitempty"`
	Starved  int          `json:"starved,omitempty"`

	// Window is for how long the lock was free and not granted, in ns, one of each
	// try that saw the lock granted again. Margin is by how much a holder that lost
	// the lock was told before the next one entered, negative if after; one of each try
	// that saw both. Overlap is the longest time for which there were two holders, of
	// each try that saw any.
	Window  []int64 `json:"window,omitempty"`
	Margin  []int64 `json:"margin,omitempty"`
	Overlap []int64 `json:"overlap,omitempty"`

	Figures   []FaultFigure `json:"figures,omitempty"`
	Aims      []FaultAim    `json:"aims,omitempty"`
	Histories []string      `json:"histories,omitempty"` // files beside the results
	Notes     []string      `json:"notes,omitempty"`     // the first of each kind that the tries left
}

// Together is how many tries showed these harms, and no others.
type Together struct {
	Harms []Harm `json:"harms"`
	Tries int    `json:"tries"`
}

// An Expectation is what a scenario is said to do to a lock, before it is tried.
type Expectation struct {
	Harms []Harm `json:"harms,omitempty"` // that are possible; none is safe
	Why   string `json:"why,omitempty"`   // "" if nothing is known of the lock
}

// A FaultFigure is a quantity that a scenario reports besides, one value a try.
type FaultFigure struct {
	Name   string    `json:"name"`
	Unit   string    `json:"unit,omitempty"`
	Values []float64 `json:"values"`
}

// A FaultAim is a limit for a quantile of a figure of a lock: the windows, the
// margins, or one of Figures by its name.
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

// Hurt returns in how many tries any of these harms was seen: in least of them, and at
// most in so many. The two differ only if two kinds were seen and Together does not say
// of all tries which came together.
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
	r.Elapsed += s.Elapsed
	r.Interrupted = r.Interrupted || s.Interrupted
	seen := make(map[Harm]int, len(r.Seen))
	for _, tries := range []map[Harm]int{r.Seen, s.Seen} { // a newer lab may know other harms
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
