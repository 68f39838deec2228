package page

import (
	"cmp"
	"fmt"
	"io"
	"locklab/harness"
	"locklab/harness/judge"
	"locklab/harness/result"
	"locklab/internal/numfmt"
	"locklab/internal/table"
	"strings"
)

// WriteAgreement writes the decisions of runs. It reports whether the share of runs that
// agree on each decision is at least least.
func WriteAgreement(out io.Writer, runs []*result.Run, least float64) (agree bool, err error) {
	rows := judge.Across(runs)
	if len(rows) == 0 {
		return false, fmt.Errorf("%w: the runs have no result to decide by", harness.ErrUsage)
	}
	lead := judge.Row{Situation: "headline"}
	for _, run := range runs {
		lead.Count(Headline(judge.Decisions(run)))
	}
	t := table.New(out, "situation", "workers", "workload", "agree", "chosen")
	failed := false
	for _, r := range append(rows, lead) {
		mark := ""
		if r.Runs < len(runs) || r.Share() < least {
			mark, failed = "  FAILED", true
		}
		chosen := choices(r)
		if r.Workload == "" {
			chosen = numfmt.Plural(len(r.Tallies), "headline")
		}
		t.Row(r.Situation, r.Workers, r.Workload, fmt.Sprintf("%d of %d", r.Tallies[0].Runs, len(runs)), chosen+mark)
	}
	if err := t.Flush(); err != nil {
		return false, err
	}
	for _, x := range lead.Tallies {
		fmt.Fprintf(out, "%d of %d: %s\n", x.Runs, lead.Runs, numfmt.Plain(x.Choice))
	}
	for _, run := range runs {
		p := judge.PowerOf(judge.Tables(run, ""))
		fmt.Fprintf(out, "%s: %d of %d differences of 25 %% or more are significant\n", run.Dir, p.Significant, p.Large)
	}
	return !failed, nil
}

func choices(r judge.Row) string {
	var parts []string
	for _, t := range r.Tallies {
		parts = append(parts, fmt.Sprintf("%s: %d", cmp.Or(t.Choice, "no recommendation"), t.Runs))
	}
	return strings.Join(parts, ", ")
}
