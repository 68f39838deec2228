package lab

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"locklab/harness"
	"locklab/harness/resultfile"
	"locklab/internal/machine"
	"locklab/reports"
)

// errUnfit only chooses the exit status: what it says has been said.
var errUnfit = errors.New("the machine is not, or was not, fit to measure on")

// listening is how long the machine is watched before it is judged: long enough
// for the ticks of 10 ms in which the kernel counts.
const listening = time.Second

// A strictness says which warnings about the machine keep a command from going
// on.
type strictness struct {
	strict bool
	accept []string // kinds of warnings
}

// flags declares the flags: when and about what is the warning.
func (s *strictness) flags(cmd *cobra.Command, when, what string) {
	f := cmd.Flags()
	f.BoolVar(&s.strict, "strict", false, "exit with status 3, "+when+", if there is a warning about the "+what)
	f.StringSliceVar(&s.accept, "accept", nil, "kinds of warnings that --strict lets pass, such as guest,clock-step")
}

// validate refuses kinds that are not among kinds.
func (s *strictness) validate(kinds []string) error {
	for _, kind := range s.accept {
		if !slices.Contains(kinds, kind) {
			return fmt.Errorf("%w: --accept %s: there is no such kind of warning; there are %s", harness.ErrUsage, kind, strings.Join(kinds, ", "))
		}
	}
	if len(s.accept) > 0 && !s.strict {
		return fmt.Errorf("%w: --accept says what --strict lets pass: give both", harness.ErrUsage)
	}
	return nil
}

// judge returns errUnfit, and says so, if one of ws, about this machine, is not to
// be passed. It writes what is wrong and what to do about it unless that was shown
// before.
func (s *strictness) judge(program string, ws []harness.Warning, shown bool, stderr io.Writer) error {
	return s.refuse(program, ws, shown, stderr, "this machine is not fit to measure on, and --strict was given; to measure all the same")
}

// judgeRuns is judge for what the report of finished runs warns of, which is in
// the report.
func (s *strictness) judgeRuns(program string, runs []*resultfile.Run, stderr io.Writer) error {
	if !s.strict {
		return nil
	}
	var ws []harness.Warning
	for _, run := range runs {
		ws = append(ws, reports.Warnings(run)...)
	}
	return s.refuse(program, ws, false, stderr, "the report has warnings, and --strict was given; to let them pass")
}

// refuse is judge, which says why there is no going on by verdict.
func (s *strictness) refuse(program string, ws []harness.Warning, shown bool, stderr io.Writer, verdict string) error {
	if !s.strict {
		return nil
	}
	var kinds []string
	for _, w := range ws {
		if slices.Contains(s.accept, w.Kind) {
			continue
		}
		if !slices.Contains(kinds, w.Kind) {
			kinds = append(kinds, w.Kind)
		}
		if !shown {
			fmt.Fprintf(stderr, "%s: %s\n  remedy: %s\n", w.Kind, w.Text, w.Remedy)
		}
	}
	if kinds == nil {
		return nil
	}
	fmt.Fprintf(stderr, "%s: %s, leave it out or add --accept %s\n", program, verdict, strings.Join(append(slices.Clone(s.accept), kinds...), ","))
	return errUnfit
}

// listen watches the machine for a while in which this process does nothing.
func listen(d time.Duration) harness.Noise {
	w := machine.Watch()
	time.Sleep(d)
	return w.Stop()
}

// admit judges the machine as it is now, before anything is measured.
func (s *strictness) admit(program string, stderr io.Writer) error {
	if err := s.validate(machine.WarningKinds()); err != nil || !s.strict {
		return err
	}
	ws := machine.Capture().Warnings()
	return s.judge(program, append(ws, machine.NoiseWarnings(listen(listening))...), false, stderr)
}
