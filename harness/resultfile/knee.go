package resultfile

import (
	"fmt"

	"locklab/harness"
	"locklab/harness/metric"
	"locklab/internal/numfmt"
)

// A Knee is what a run found before it measured: up to which load a lock goes under a
// workload. It comes of short probes, and chose the rates that the run then measured, by
// which a report says where the knee is.
type Knee struct {
	Lock     string           `json:"lock"`
	Workload harness.Workload `json:"workload"` // without its rate and its windows

	Closed  float64      `json:"closed"`             // acquisitions a second of the closed loop with as many workers
	Rest    harness.Rate `json:"rest,omitempty"`     // the small load at which the lock counts as unloaded
	RestP99 float64      `json:"rest_p99,omitempty"` // of the waits there, ns
	UpTo    harness.Rate `json:"up_to,omitempty"`    // the greatest rate probed that the lock is up to
	Over    harness.Rate `json:"over,omitempty"`     // the least that is too much for it
	Rule    Limit        `json:"rule,omitempty"`     // which it exceeds there

	Rates  []harness.Rate `json:"rates"`  // that the run measures
	Trials []Trial        `json:"trials"` // the probes of open loops, in the order in which they were made

	// Missing says why no knee was found, in words that follow the name of the lock; ""
	// if one was.
	Missing string `json:"missing,omitempty"`

	// Broken is the promise that the lock broke in a probe, if it did: the search ended.
	Broken string `json:"broken,omitempty"`
}

// KneeFigures is how many figures a rate has that is chosen by a knee.
const KneeFigures = 2

// A Trial is one probe of a search for a knee.
type Trial struct {
	Rate    harness.Rate `json:"rate"`
	Granted float64      `json:"granted"` // of what was asked for, percent
	P99     float64      `json:"p99"`     // of the waits, or the least that the clock tells, ns
	Waits   int64        `json:"waits"`   // of which it is the p99
	Over    Limit        `json:"over,omitempty"`
}

// String says what the probe showed.
func (t Trial) String() string {
	text := numfmt.Plain(fmt.Sprintf("%v: %.0f %% granted, p99 %s", t.Rate.Rounded(KneeFigures), t.Granted, numfmt.Nanos(t.P99)))
	if t.Over != "" {
		text += ", too much"
	}
	return text
}

// A Limit is one of those that end the range of loads that a lock is up to; "" is none.
type Limit string

// The limits: see metric.LeastGoodput and metric.MostSlowdown.
const (
	LimitGranted Limit = "granted" // the lock falls behind: it grants too little of what is asked for
	LimitP99     Limit = "p99"     // waits are too long
)

// String says where the knee is, or why there is none, for a line that names the lock.
func (k Knee) String() string {
	if k.Missing != "" {
		return "it " + k.Missing
	}
	up, over := k.UpTo.Rounded(KneeFigures), k.Over.Rounded(KneeFigures)
	if k.Rule == LimitGranted {
		return fmt.Sprintf("between %v and %v it falls behind: it grants less than %d %% of what is asked for", up, over, metric.LeastGoodput)
	}
	return numfmt.Plain(fmt.Sprintf("between %v and %v p99 of the waits passes %d times that of an unloaded lock, %s at %v",
		up, over, metric.MostSlowdown, numfmt.Nanos(k.RestP99), k.Rest.Rounded(KneeFigures)))
}
