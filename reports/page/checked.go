package page

import (
	"fmt"
	"slices"
	"strings"

	"locklab/harness"
	"locklab/harness/result"
	"locklab/internal/numfmt"
)

// A checked counts the checks on one lock during the measurement.
type checked struct {
	Lock      string
	Windows   int
	Contended int // windows with two workers or more
	Ops       uint64
	Broken    int // windows with a violation
}

// audit counts the run's checks by lock.
func audit(run *result.Run) (out []checked) {
	index := make(map[string]int)
	for _, r := range run.Results {
		if r.Lock.Status == harness.Control {
			continue // it is no lock
		}
		i, known := index[r.Lock.Name]
		if !known {
			i = len(out)
			index[r.Lock.Name] = i
			out = append(out, checked{Lock: r.Lock.Name})
		}
		c := &out[i]
		c.Windows++
		c.Ops += r.Ops
		if r.Workload.Workers > 1 {
			c.Contended++
		}
		if len(r.Violations) > 0 {
			c.Broken++
		}
	}
	slices.SortFunc(out, func(a, b checked) int { return strings.Compare(a.Lock, b.Lock) })
	return out
}

func (c checked) found() string {
	if c.Broken == 0 {
		return "kept"
	}
	return fmt.Sprintf("broken in %d", c.Broken)
}

const auditText = "Each window checks that no process ends and that every worker comes back. With contenders, which are two workers or more, it checks exclusion: no update of the guarded data is lost, no reader sees half an update, and at most the permitted number hold the lock. Distributed locks are also checked for failed requests, and fenced ones for tokens that rise from holder to holder. Conformance tests check the other promises of a lock, such as its order."

var auditHead = []string{"lock", "windows", "with contenders", "acquisitions", "promises"}

// Row returns c as cells under auditHead.
func (c checked) Row() []string {
	return []string{c.Lock, fmt.Sprint(c.Windows), fmt.Sprint(c.Contended), numfmt.SI(float64(c.Ops)), c.found()}
}
