package result

import (
	"fmt"

	"locklab/harness"

	"locklab/internal/numfmt"
)

// A Knee is the saturation point of a lock under a workload, found by short probes before
// the measurement. It determines the rates that the run measures; those locate the point
// that a report gives.
type Knee struct {
	Lock     string           `json:"lock"`
	Workload harness.Workload `json:"workload"` // without its rate and its windows

	Closed  float64      `json:"closed"`             // acquisitions per second of the closed loop with as many workers
	Rest    harness.Rate `json:"rest,omitempty"`     // the small load that counts as unloaded
	RestP99 float64      `json:"rest_p99,omitempty"` // of the waits there, ns
	UpTo    harness.Rate `json:"up_to,omitempty"`    // the greatest probed rate that the lock sustains
	Over    harness.Rate `json:"over,omitempty"`     // the least that it does not sustain
	Rule    Limit        `json:"rule,omitempty"`     // the limit that it exceeds there

	Rates  []harness.Rate `json:"rates"`  // to be measured by the run
	Trials []Trial        `json:"trials"` // the probes of open loops, in order

	// Missing is the reason without a saturation point, to follow the name of the lock, or "".
	Missing string `json:"missing,omitempty"`

	// Broken is the promise that the lock broke in a probe and so ended the search, or "".
	Broken string `json:"broken,omitempty"`
}

// KneeFigures is the number of significant figures of a rate chosen by a Knee.
const KneeFigures = 2

// A Trial is one probe of a search for a saturation point.
type Trial struct {
	Rate    harness.Rate `json:"rate"`
	Granted float64      `json:"granted"` // percent of the requests
	P99     float64      `json:"p99"`     // of the waits, or the least that the clock resolves, ns
	Waits   int64        `json:"waits"`   // number of waits behind P99
	Over    Limit        `json:"over,omitempty"`
}

// String describes the result of the probe.
func (t Trial) String() string {
	text := numfmt.Plain(fmt.Sprintf("%v: %.0f %% granted, p99 %s", t.Rate.Rounded(KneeFigures), t.Granted, numfmt.Nanos(t.P99)))
	if t.Over != "" {
		text += ", too much"
	}
	return text
}

// A Limit ends the range of loads that a lock sustains; "" is no limit.
type Limit string

// The limits: see result.LeastGoodput and result.MostSlowdown.
const (
	LimitGranted Limit = "granted" // the lock falls behind: it grants too few of the requests
	LimitP99     Limit = "p99"     // waits are too long
)

// String describes the saturation point, or why it is missing, for a line that names the lock.
func (k Knee) String() string {
	if k.Missing != "" {
		return "it " + k.Missing
	}
	up, over := k.UpTo.Rounded(KneeFigures), k.Over.Rounded(KneeFigures)
	if k.Rule == LimitGranted {
		return fmt.Sprintf("between %v and %v it falls behind: it grants less than %d %% of what is asked for", up, over, LeastGoodput)
	}
	return numfmt.Plain(fmt.Sprintf("between %v and %v p99 of the waits passes %d times that of an unloaded lock, %s at %v",
		up, over, MostSlowdown, numfmt.Nanos(k.RestP99), k.Rest.Rounded(KneeFigures)))
}
