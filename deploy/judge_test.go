package deploy_test

import (
	"errors"
	"fmt"
	"strings"

	"locklab/harness/result"
)

// judgeRun returns what is wrong with the merged run. On a busy machine the windows of all
// cases may be apart: then there is no result.
func judgeRun(run *result.Run, ranks, hosts int) error {
	var errs []error
	wrong := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if m := run.Manifest; len(m.Parts) != ranks || len(run.Damage) > 0 {
		wrong("it has %d parts and is damaged at %v: want %d, and no damage", len(m.Parts), run.Damage, ranks)
	}
	for _, loss := range run.Manifest.Lost {
		if !strings.Contains(loss.Reason, " its window ") {
			wrong("it lost %s: %s", loss.Case, loss.Reason)
		}
	}
	on := make(map[string]bool)
	for _, part := range run.Manifest.Parts {
		on[part.Host] = true
	}
	if len(on) != hosts {
		wrong("the ranks ran on %d hosts, want %d", len(on), hosts)
	}
	if len(run.Results) == 0 {
		wrong("it has no results")
	}
	for _, r := range run.Results {
		if len(r.Violations) > 0 {
			wrong("%s: %v", r.Lock.Name, r.Violations)
		}
		if len(r.Ranks) != ranks {
			wrong("%s has %d ranks, want %d", r.Lock.Name, len(r.Ranks), ranks)
		}
		for _, rank := range r.Ranks {
			if rank.Ops == 0 {
				wrong("%s: rank %d never had it", r.Lock.Name, rank.Rank)
			}
		}
	}
	return errors.Join(errs...)
}
