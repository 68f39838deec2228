package oracle

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"locklab/harness"
)

// The rules, as they appear in Violation.Rule.
const (
	Exclusion = "exclusion"
	Fencing   = "fencing"
	Liveness  = "liveness"
	Errors    = "error"
	Crash     = "crash" // the lock ended its process: by a panic, a fatal error of the runtime, or an exit
)

// A Violation is a broken promise. The rates of a round with a Violation are not used.
type Violation struct {
	Rule   string `json:"rule"`   // "exclusion", "liveness", "fencing", "error", "crash"
	Detail string `json:"detail"` // the observation, in one line
	Count  uint64 `json:"count"`  // how often, at least 1

	// Trace is the beginning of a crashing process's output, by line; nil unless it crashed.
	Trace []string `json:"trace,omitempty"`
}

// A Hold is a [harness.Hold], definite from the return of Lock to the call of Unlock.
type Hold = harness.Hold

// Sort orders holds by the time of their grant.
func Sort(holds []Hold) {
	slices.SortFunc(holds, func(a, b Hold) int { return byGrant(&a, &b) })
}

func byGrant(a, b *Hold) int {
	return cmp.Or(cmp.Compare(a.Acquired, b.Acquired), cmp.Compare(a.Releasing, b.Releasing))
}

// Counter compares the acquisitions with a plain counter, which every holder incremented.
func Counter(got, want uint64) []Violation {
	return report(Exclusion, apart(got, want), fmt.Sprintf("a counter guarded by the lock reads %d after %d increments", got, want))
}

// Torn reports how often a worker inside found the two halves of the guarded data unequal.
func Torn(n uint64) []Violation {
	return report(Exclusion, n, "the guarded data was found half written")
}

// Data reports that the data of section has got writes instead of want by the workers
// inside, or that it is inconsistent, with the description flaw.
func Data(section harness.Section, got, want uint64, flaw string) []Violation {
	if got == want && flaw == "" {
		return nil
	}
	detail := fmt.Sprintf("the data of section %s, guarded by the lock, shows %d writes after %d", section, got, want)
	if flaw != "" {
		detail += "; " + flaw
	}
	return report(Exclusion, max(1, apart(got, want)), detail)
}

// NotReturned reports workers that never returned from the lock, although nobody held it.
func NotReturned(workers []int, waited time.Duration) []Violation {
	if len(workers) == 0 {
		return nil
	}
	return report(Liveness, uint64(len(workers)),
		fmt.Sprintf("worker %d still waited after the run ended, and no worker made progress for %v: the lock is stuck", workers[0], waited))
}

func apart(a, b uint64) uint64 { return max(a, b) - min(a, b) }

func report(rule string, n uint64, detail string) []Violation {
	if n == 0 {
		return nil
	}
	return []Violation{{Rule: rule, Detail: detail, Count: n}}
}
