package lab

import (
	"io"
	"slices"

	"locklab/harness"
	"locklab/harness/judge"
	"locklab/reports/page"
)

// locks compares the locks of the run in dir with one of them, with rates in text. A
// difference is no regression and has no exit status.
func (o *compareOptions) locks(how judge.CompareOptions, dir string, stdout, stderr io.Writer) error {
	run, err := loadRun(dir)
	if err == nil {
		how.Locks, err = o.among(run)
	}
	if err != nil {
		return err
	}
	c, err := judge.CompareLocks(run, o.to, how)
	if err != nil {
		return err
	}
	if o.format != "text" || o.metric != judge.Metrics[0].Name {
		return o.print(page.CompareChanges(c), judge.Fine, stdout, stderr) // a difference is no regression
	}
	run.Baseline = o.to
	if how.Margin != nil {
		run.Manifest.Margin = how.Margin
	}
	run.Results = slices.DeleteFunc(run.Results, func(r *harness.Result) bool {
		return how.Locks != nil && !how.Locks(r.Lock) && r.Lock.Name != o.to
	})
	return page.Tables(run).Text(stdout, width(stdout))
}
