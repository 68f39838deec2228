package main

import (
	"fmt"
	"io"
	"os"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"

	"locklab/harness"
	"locklab/harness/runner"
)

// progress shows how far a run has come: a bar with the time left on a
// terminal, one line a result elsewhere.
type progress struct {
	out io.Writer
	bar *progressbar.ProgressBar // nil if out is not a terminal
}

func newProgress(out io.Writer, p *runner.Plan) *progress {
	total := len(p.Cases) * p.Rounds
	fmt.Fprintf(out, "%d cases, %d rounds, about %v\n", len(p.Cases), p.Rounds, p.Estimate().Round(time.Second))
	s := &progress{out: out}
	if f, ok := out.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		s.bar = progressbar.NewOptions(total, progressbar.OptionSetWriter(out), progressbar.OptionFullWidth(),
			progressbar.OptionShowCount(), progressbar.OptionSetPredictTime(false),
			progressbar.OptionSetElapsedTime(false), progressbar.OptionClearOnFinish())
	}
	return s
}

func (s *progress) update(p runner.Progress) {
	if s.bar != nil {
		s.bar.Describe(fmt.Sprintf("%-40.40s %s left", p.Case.Name(), p.Left.Round(time.Second)))
		s.bar.Set(p.Done) // an error means only that the bar could not be drawn
		return
	}
	if p.Result != nil {
		fmt.Fprintf(s.out, "[%*d/%d] round %d  %-44s %s  %s left\n", len(fmt.Sprint(p.Total)), p.Done, p.Total,
			p.Round+1, p.Case.Name(), speed(p.Result), p.Left.Round(time.Second))
	}
}

// speed says in a few words what a result gave.
func speed(r *harness.Result) string {
	if len(r.Violations) > 0 {
		return "VIOLATED " + r.Violations[0].Rule
	}
	rate := float64(r.Ops) / r.Elapsed.Seconds()
	switch {
	case rate >= 1e6:
		return fmt.Sprintf("%8.2f M/s", rate/1e6)
	case rate >= 1e3:
		return fmt.Sprintf("%8.2f k/s", rate/1e3)
	}
	return fmt.Sprintf("%8.1f  /s", rate)
}

func (s *progress) close() {
	if s.bar != nil {
		s.bar.Exit() // likewise
		fmt.Fprintln(s.out)
	}
}
