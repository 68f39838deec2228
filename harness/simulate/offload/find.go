package offload

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"locklab/harness"
)

// Suffix is what the file of a program is called more, before .exe, if it is the build
// that simulates.
const Suffix = "-simulate"

// A Program is one whose other build is looked for. The zero values of all but Exe are
// that nothing is known.
type Program struct {
	Exe    string // its file
	Commit string // it was built from
	Source Source
	Locks  []string // that the other build must have

	// Say, if not nil, is told in one line what takes long, or is odd.
	Say func(text string)
}

// ErrNoBuild is wrapped, with harness.ErrUsage, by the error of [Find] if there is no
// build that simulates.
var ErrNoBuild = errors.New("the build of this program that simulates is missing")

// Find returns the build of p that simulates: the file beside p.Exe that is called
// like it and -simulate, if it is of the same version, or one that the go command
// makes, into the user's cache directory, of the module that p was built from. With
// nothing changed since that takes a second. The error says by which command to
// make it.
func Find(ctx context.Context, p Program) (string, error) {
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

// sibling returns the name of the other build beside exe.
func sibling(exe string) string {
	base, ok := strings.CutSuffix(exe, ".exe")
	if ok {
		return base + Suffix + ".exe"
	}
	return exe + Suffix
}

// greet starts exe, hears its first line and ends it.
func greet(ctx context.Context, exe string) (hello, error) {
	w, err := start(ctx, exe)
	if err != nil {
		return hello{}, err
	}
	w.close()
	return w.hello, nil
}

// unfit says why a build is not the other one of p, or "".
func (p Program) unfit(h hello) string {
	if why := p.unable(h); why != "" {
		return why
	}
	if p.Commit != "" && h.Commit != "" && !sameCommit(p.Commit, h.Commit) {
		return fmt.Sprintf("it is of commit %s, and this program of %s", short(h.Commit), short(p.Commit))
	}
	return ""
}

// unable says why a build cannot simulate what p may ask for, or "".
func (p Program) unable(h hello) string {
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

// sameCommit reports whether two revisions, one of which may be shortened, are one.
func sameCommit(a, b string) bool {
	x, xd := strings.CutSuffix(a, dirty)
	y, yd := strings.CutSuffix(b, dirty)
	return xd == yd && (strings.HasPrefix(x, y) || strings.HasPrefix(y, x))
}

// short returns a revision in at most twelve letters.
func short(commit string) string {
	revision, changed := strings.CutSuffix(commit, dirty)
	revision = revision[:min(12, len(revision))]
	if changed {
		revision += dirty
	}
	return revision
}

// absolute returns path, or "" where it names no file of this system, as one that the
// compiler was told to leave out does.
func absolute(path string) string {
	if !filepath.IsAbs(path) {
		return ""
	}
	if _, err := os.Stat(path); err != nil {
		return ""
	}
	return path
}
