package deploy_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"locklab/harness"
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

func TestJudgeRun(t *testing.T) {
	for name, c := range map[string]struct {
		spoil func(*result.Run)
		want  string // "" accepts
	}{
		"as it should be": {func(*result.Run) {}, ""},
		"a part less":     {func(r *result.Run) { r.Manifest.Parts = r.Manifest.Parts[:2] }, "it has 2 parts"},
		"late":            {func(r *result.Run) { lose(r, "rank 1 on n2 opened its window 40ms late") }, ""},
		"lost":            {func(r *result.Run) { lose(r, "rank 1 on n2 has no result") }, "has no result"},
		"damaged":         {func(r *result.Run) { r.Damage = []string{"line 2"} }, "line 2"},
		"one host":        {func(r *result.Run) { r.Manifest.Parts[2].Host = "n1" }, "ran on 2 hosts"},
		"no results":      {func(r *result.Run) { r.Results = nil }, "no results"},
		"violation":       {func(r *result.Run) { r.Results[0].Violations = make([]harness.Violation, 1) }, "redis-queue: "},
		"a rank less":     {func(r *result.Run) { r.Results[0].Ranks = r.Results[0].Ranks[1:] }, "has 2 ranks"},
		"starved":         {func(r *result.Run) { r.Results[0].Ranks[1].Ops = 0 }, "rank 1 never had it"},
	} {
		t.Run(name, func(t *testing.T) {
			run := &result.Run{Results: []*harness.Result{{Lock: harness.Lock{Name: "redis-queue"}}}}
			for i := range 3 {
				run.Manifest.Parts = append(run.Manifest.Parts, result.Part{Rank: i, Host: fmt.Sprintf("n%d", i+1)})
				run.Results[0].Ranks = append(run.Results[0].Ranks, harness.Rank{Rank: i, Ops: 1})
			}
			c.spoil(run)
			err := judgeRun(run, 3, 3)
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

func lose(r *result.Run, why string) {
	r.Manifest.Lost = append(r.Manifest.Lost, result.Loss{Case: "lock=redis-queue", Reason: why})
}
