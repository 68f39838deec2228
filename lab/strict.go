package lab

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"locklab/internal/machine"
	"locklab/internal/nearest"
)

// A strictness selects the warnings about the machine that stop a command.
type strictness struct {
	strict bool
	accept []string // kinds of warnings
}

func (s *strictness) flags(cmd *cobra.Command, what string) {
	f := cmd.Flags()
	f.BoolVar(&s.strict, "strict", false, "exit with status 3, after the output, if there is a warning about the "+what)
	f.StringSliceVar(&s.accept, "accept", nil, "kinds of warnings that --strict lets pass, such as guest,clock-step")
}

func (s *strictness) validate(kinds []string) error {
	for _, kind := range s.accept {
		if !slices.Contains(kinds, kind) {
			return usage("--accept %s: there is no such kind of warning%s; there are %s", kind, nearest.Hint(kind, kinds), strings.Join(kinds, ", "))
		}
	}
	if len(s.accept) > 0 && !s.strict {
		return usage("--accept needs --strict: give both")
	}
	return nil
}

// refuseWarnings returns errUnfit if one of ws is not accepted. It writes them, unless they
// were shown.
func (s *strictness) refuseWarnings(program string, ws []machine.Warning, shown bool, stderr io.Writer) error {
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
	verdict := "the report has warnings, and --strict was given; to let them pass"
	if shown {
		verdict = "this machine is not fit to measure on, and --strict was given; to measure all the same"
	}
	fmt.Fprintf(stderr, "%s: %s, leave it out or add --accept %s\n", program, verdict, strings.Join(append(slices.Clone(s.accept), kinds...), ","))
	return errUnfit
}
