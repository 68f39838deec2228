package lab

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"locklab/harness"
)

// A Program is a command line over a list of locks. Its zero value has no locks;
// it can draw and compare runs.
type Program struct {
	// Name is what the program calls itself in help, messages and files; "" is the
	// name of its file.
	Name string

	// Version is what version and --version print with the commit; "" is 0.0.0.
	Version string

	// Locks are what it lists and measures.
	Locks []*harness.Variant

	// Defaults are the names of those that it measures if none is named; nil is all
	// but those that are broken, historical or a control.
	Defaults []string

	everyStep bool // progress that is not on a terminal has a line for each step: tests wait for them

	mainFile string // that calls Main, as the compiler was told; "" is unknown
}

// validate returns what is wrong with p as its author wrote it.
func (p *Program) validate() error {
	errs := []error{harness.Validate(p.Locks)}
	for _, name := range p.Defaults {
		if !slices.ContainsFunc(p.Locks, func(v *harness.Variant) bool { return v.Name == name }) {
			errs = append(errs, fmt.Errorf("the defaults name %q, which is none of the locks", name))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("%w: lab.Program: %w", harness.ErrUsage, err)
	}
	return nil
}

// byDefault reports whether v is measured if no lock is named.
func (p *Program) byDefault(v *harness.Variant) bool {
	if p.Defaults != nil {
		return slices.Contains(p.Defaults, v.Name)
	}
	return !slices.Contains([]harness.Status{harness.Broken, harness.Historical, harness.Control}, v.Status)
}

// spinLocks returns the locks that an experiment about spin locks runs.
func (p *Program) spinLocks() (locks []*harness.Variant) {
	for _, v := range p.Locks {
		if v.Family == harness.Spin && v.Local != nil && !v.Traits.ReadWrite {
			locks = append(locks, v)
		}
	}
	return locks
}

// exampleLocks finds the locks that an example names.
var exampleLocks = regexp.MustCompile(`(?:--locks|--to|locklab trace) (\S+)`)

// examples returns the examples of a command that this program can run, with its
// name: those that name a lock are left out if it has none so called.
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
