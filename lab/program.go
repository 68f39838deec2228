package lab

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"locklab/harness"
)

// A Program is a command line over a list of locks. Its zero value has no locks; it can
// draw and compare runs.
type Program struct {
	// Name is the name of the program in help, messages and files; "" is the name of its file.
	Name string

	// Version is printed with the commit by the command version; "" is 0.0.0.
	Version string

	// Locks are the locks that the program can list and measure.
	Locks []*harness.Variant

	// Defaults are the names of the locks to measure if the user names none. nil is all
	// locks except if they are broken, historical or a control.
	Defaults []string

	everyStep bool // progress outside a terminal has a line for each step, for tests
}

func (p *Program) validate() error {
	errs := []error{harness.Validate(p.Locks)}
	for _, name := range p.Defaults {
		if !slices.ContainsFunc(p.Locks, func(v *harness.Variant) bool { return v.Name == name }) {
			errs = append(errs, fmt.Errorf("the defaults name %q, but there is no such lock", name))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return usage("lab.Program: %w", err)
	}
	return nil
}

func (p *Program) byDefault(v *harness.Variant) bool {
	if p.Defaults != nil {
		return slices.Contains(p.Defaults, v.Name)
	}
	return v.Status.Competes()
}

func (p *Program) spinLocks() []*harness.Variant {
	return filter(p.Locks, func(v *harness.Variant) bool {
		return v.Family == harness.Spin && v.Local != nil && !v.Traits.ReadWrite
	})
}

var exampleLocks = regexp.MustCompile(`(?:--locks|--to|locklab trace) ([a-z]\S*)`)

// examples returns the examples of a command under the name of this program. It omits
// examples with locks that the program lacks.
func (p *Program) examples(text string) string {
	var lines []string
	for line := range strings.SplitSeq(text, "\n") {
		if m := exampleLocks.FindStringSubmatch(line); m != nil {
			if _, err := p.choose(strings.Split(m[1], ",")); err != nil {
				continue
			}
		}
		lines = append(lines, strings.ReplaceAll(line, "locklab", p.Name))
	}
	return strings.Join(lines, "\n")
}
