package simulate

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"locklab/harness"
)

// BuildSuffix is appended to the file name of a program, before .exe, for its simulating
// build.
const BuildSuffix = "-simulate"

// A BuildProgram is a program whose other build is needed. Zero values are unknown; Exe is
// required.
type BuildProgram struct {
	Exe    string // its file
	Commit string // it was built from
	Source BuildSource
	Locks  []string // required in the other build

	// Say, if not nil, receives one-line messages about slow or unusual steps.
	Say func(text string)
}

// ErrNoBuild is wrapped, with harness.ErrUsage, by the error of [Find] if there is no
// simulating build.
var ErrNoBuild = errors.New("the build of this program that simulates is missing")

// FindBuild returns the simulating build of p. That is the file next to p.Exe with the suffix
// -simulate, if it has the same version. Otherwise the go command builds it from p's
// module, in the user's cache directory. If nothing changed that takes a second. The
// error contains the command that makes it.
func FindBuild(ctx context.Context, p BuildProgram) (string, error) {
	if p.Say == nil {
		p.Say = func(string) {}
	}
	beside := sibling(p.Exe)
	var reasons []string
	if _, err := os.Stat(beside); err == nil {
		h, err := greet(ctx, beside)
		if ctx.Err() != nil {
			return "", context.Cause(ctx)
		}
		why := ""
		if err != nil {
			why = err.Error()
		} else {
			why = p.unfit(h)
		}
		if why == "" {
			return beside, nil
		}
		reasons = append(reasons, fmt.Sprintf("%s is not used: %s", beside, why))
	}
	built, err := p.build(ctx)
	if err == nil {
		for _, text := range reasons {
			p.Say(text)
		}
		return built, nil
	}
	if ctx.Err() != nil {
		return "", context.Cause(ctx)
	}
	reasons = append(reasons, err.Error())
	return "", fmt.Errorf("%w: %w (%s); make it by: %s", harness.ErrUsage, ErrNoBuild, strings.Join(reasons, "; "), p.Source.command(beside))
}

func sibling(exe string) string {
	base, ok := strings.CutSuffix(exe, ".exe")
	if ok {
		return base + BuildSuffix + ".exe"
	}
	return exe + BuildSuffix
}

func greet(ctx context.Context, exe string) (hello, error) {
	w, err := start(ctx, exe)
	if err != nil {
		return hello{}, err
	}
	w.close()
	return w.hello, nil
}

func (p BuildProgram) unfit(h hello) string {
	if why := p.unable(h); why != "" {
		return why
	}
	if p.Commit != "" && h.Commit != "" && !sameCommit(p.Commit, h.Commit) {
		return fmt.Sprintf("it is of commit %s, and this program of %s", short(h.Commit), short(p.Commit))
	}
	return ""
}

func (p BuildProgram) unable(h hello) string {
	switch {
	case !h.Simulates:
		return "it was built without the tags systematic and simulate"
	case h.Protocol != protocol:
		return fmt.Sprintf("it is of another version of the lab (protocol %d, not %d)", h.Protocol, protocol)
	}
	has := make(map[string]bool)
	for _, name := range h.Locks {
		has[name] = true
	}
	for _, name := range p.Locks {
		if !has[name] {
			return "it has no lock " + name
		}
	}
	return ""
}

const dirty = "+dirty"

// sameCommit reports whether two revisions, one of which may be shortened, are the same.
func sameCommit(a, b string) bool {
	x, xd := strings.CutSuffix(a, dirty)
	y, yd := strings.CutSuffix(b, dirty)
	return xd == yd && (strings.HasPrefix(x, y) || strings.HasPrefix(y, x))
}

func short(commit string) string {
	revision, changed := strings.CutSuffix(commit, dirty)
	revision = revision[:min(12, len(revision))]
	if changed {
		revision += dirty
	}
	return revision
}

func absolute(path string) string {
	if !filepath.IsAbs(path) {
		return ""
	}
	if _, err := os.Stat(path); err != nil {
		return ""
	}
	return path
}
