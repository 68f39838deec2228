package lab

import (
	"io"
	"strings"

	"locklab/harness/compare"
)

// locks compares the locks of the run in dir with one of them. What it finds is no
// regression, so it has no exit status.
func (o *compareOptions) locks(how compare.Options, dir string, stdout, stderr io.Writer) error {
	run, err := loadRun(dir)
	if err != nil {
		return err
	}
	if how.Locks, err = o.run.program.among(strings.Split(o.run.locks, ","), run); err != nil {
		return err
	}
	c, err := compare.Locks(run, o.to, how)
	if err != nil {
		return err
	}
	return o.write(c, stdout, stderr)
}
