package result

import (
	"maps"
	"slices"
	"time"

	"locklab/harness/oracle"
)

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

// Forbids returns the anomalies that break a guarantee.
func (g Guarantee) Forbids() []oracle.Anomaly { return forbidden[g] }

var forbidden = map[Guarantee][]oracle.Anomaly{
	Failover: {oracle.TwoHolders, oracle.Stuck},
	Fencing:  {oracle.StaleWrite, oracle.TokenFell},
	Ordered:  {oracle.Overtaken},
	Recovery: {oracle.Stuck, oracle.LeftBehind},
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

	// Tries counts the judged tries, and Seen the tries with each anomaly. Failed counts tries
	// without the fault, which the lab could not make, and Starved tries in which the machine
	// kept a process from running for long enough to explain the anomaly. Neither is part of
	// Tries. Together counts each exact set of anomalies; older files lack it: see Hurt.
	Tries    int                    `json:"tries"`
	Seen     map[oracle.Anomaly]int `json:"seen,omitempty"`
	Together []Together             `json:"together,omitempty"`
	Failed   int                    `json:"failed,omitempty"`
	Starved  int                    `json:"starved,omitempty"`

	Published Campaign `json:"-"`

	// In ns. Window holds how long the lock was free before the next grant, Notice the time
	// from the notice of the loss to the next entry, negative if the entry came first, and
	// Overlap, for each try with two holders, the longest time that there were two.
	Window  []int64 `json:"window,omitempty"`
	Notice  []int64 `json:"notice,omitempty"`
	Overlap []int64 `json:"overlap,omitempty"`

	Figures   []FaultFigure `json:"figures,omitempty"`
	Aims      []FaultAim    `json:"aims,omitempty"`
	Histories []string      `json:"histories,omitempty"` // files next to the results
	Notes     []string      `json:"notes,omitempty"`     // the first of each kind
}

// A Campaign is the part of a FaultResult that was made in the project's own campaign.
type Campaign struct {
	Tries int
	Seen  map[oracle.Anomaly]int
}

// Together is the number of tries that showed exactly these anomalies.
type Together struct {
	Anomalies []oracle.Anomaly `json:"harms"`
	Tries     int              `json:"tries"`
}

// An Expectation is the predicted effect of a scenario on a lock, written before the
// scenario is tried.
type Expectation struct {
	Anomalies []oracle.Anomaly `json:"harms,omitempty"` // possible anomalies; empty is safe
	Why       string           `json:"why,omitempty"`   // "" if there is no prediction for the lock
}

// A FaultFigure is an additional quantity of a scenario, one value per try.
type FaultFigure struct {
	Name   string    `json:"name"`
	Unit   string    `json:"unit,omitempty"`
	Values []float64 `json:"values"`
}

// A FaultAim is a limit for a quantile of the windows, the notices, or a member of Figures.
type FaultAim struct {
	Figure   string  `json:"figure"` // "window", "notice" or a name in Figures
	Quantile float64 `json:"quantile"`
	Least    bool    `json:"least,omitempty"` // the limit is a lower one
	Limit    float64 `json:"limit"`           // in the unit of the figure; ns for windows and notices
	Text     string  `json:"text"`            // in words, such as "session timeout + 1 s"
}

// Same reports whether r and s are of the same scenario and lock.
func (r *FaultResult) Same(s *FaultResult) bool {
	return r.Scenario == s.Scenario && r.Lock.Name == s.Lock.Name
}

// Hurt returns the number of tries that showed any of these anomalies: least at least, most
// at most. They differ only if two kinds were seen and Together does not cover all tries.
func (r *FaultResult) Hurt(anomalies []oracle.Anomaly) (least, most int) {
	known := true
	for _, h := range anomalies {
		n, told := min(max(r.Seen[h], 0), r.Tries), 0
		for _, t := range r.Together {
			if slices.Contains(t.Anomalies, h) {
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
		if slices.ContainsFunc(t.Anomalies, func(h oracle.Anomaly) bool { return slices.Contains(anomalies, h) }) {
			n += max(t.Tries, 0)
		}
	}
	n = min(max(n, least), most)
	return n, n
}

// Add adds the tries of s, which is of the same scenario and lock, to r.
func (r *FaultResult) Add(s *FaultResult) {
	if s.Skipped != "" {
		r.Failed += s.Failed
		return
	}
	if r.Skipped != "" {
		failed := r.Failed
		*r = *s
		r.Failed += failed
		return
	}
	r.Tries += s.Tries
	r.Failed += s.Failed
	r.Starved += s.Starved
	if s.Published.Tries > 0 { // there is one campaign
		r.Published = s.Published
	}
	r.Elapsed += s.Elapsed
	r.Interrupted = r.Interrupted || s.Interrupted
	seen := make(map[oracle.Anomaly]int, len(r.Seen))
	maps.Copy(seen, r.Seen)
	for h, n := range s.Seen { // a newer lab may have other anomalies
		seen[h] += n
	}
	r.Seen = seen
	r.Together = slices.Clone(r.Together)
	for _, t := range s.Together {
		same := func(u Together) bool { return slices.Equal(t.Anomalies, u.Anomalies) }
		r.Together = addTo(r.Together, t, same, func(old *Together) { old.Tries += t.Tries })
	}
	r.Window = append(slices.Clip(r.Window), s.Window...)
	r.Notice = append(slices.Clip(r.Notice), s.Notice...)
	r.Overlap = append(slices.Clip(r.Overlap), s.Overlap...)
	r.Figures = slices.Clone(r.Figures)
	for _, f := range s.Figures {
		same := func(g FaultFigure) bool { return g.Name == f.Name }
		r.Figures = addTo(r.Figures, f, same, func(old *FaultFigure) { old.Values = slices.Concat(old.Values, f.Values) })
	}
	r.Histories = append(slices.Clip(r.Histories), s.Histories...)
	for _, n := range s.Notes {
		if len(r.Notes) < mostNotes && !slices.Contains(r.Notes, n) {
			r.Notes = append(slices.Clip(r.Notes), n)
		}
	}
}

const mostNotes = 8
