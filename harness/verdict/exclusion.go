package verdict

import (
	"fmt"
	"slices"
	"strings"

	"locklab/harness"
	"locklab/harness/resultfile"
	"locklab/harness/survival"
	"locklab/internal/numfmt"
)

// oracleCrash is the rule that a lock breaks which ends its process.
const oracleCrash = "crash"

// An Exclusion says why a lock was not considered for a verdict.
type Exclusion struct{ Lock, Reason string }

// Exclusions lists the locks of the run that no verdict may name.
func Exclusions(run *resultfile.Run) (out []Exclusion) {
	broken := Violations(run)
	cases := make(map[string]int)
	locks := make(map[string]harness.Lock)
	for _, r := range run.Results {
		cases[r.Lock.Name]++
		locks[r.Lock.Name] = r.Lock
	}
	for name, lock := range locks {
		switch bad := broken[name]; {
		case bad != nil:
			first := bad[0].Violations[0]
			if first.Rule == oracleCrash {
				out = append(out, Exclusion{name, fmt.Sprintf("it crashed in %d of %s: %s", len(bad), numfmt.Plural(cases[name], "result"), first.Detail)})
				continue
			}
			out = append(out, Exclusion{name, fmt.Sprintf("it broke the rule of %s in %d of %s: %s", first.Rule, len(bad), numfmt.Plural(cases[name], "result"), first.Detail)})
		case lock.Status != harness.Recommended && lock.Status != harness.Reference:
			out = append(out, Exclusion{name, fmt.Sprintf("its status is %s: %s", lock.Status, lock.Doc)})
		case lock.Traits.Permits > 1:
			out = append(out, Exclusion{name, fmt.Sprintf("it lets in %d at once: %s", lock.Traits.Permits, lock.Doc)})
		case lock.Traits.Needs != "":
			if why := lacks(survival.ClassOf(run.Faults, name), run.Require); why != "" {
				out = append(out, Exclusion{name, "it was not seen to have what is required: " + why})
			}
		}
	}
	slices.SortFunc(out, func(a, b Exclusion) int { return strings.Compare(a.Lock, b.Lock) })
	return out
}
