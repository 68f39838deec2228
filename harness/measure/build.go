package measure

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"runtime"
	"time"

	"locklab/harness"
	"locklab/harness/result"
	"locklab/internal/machine"
)

// protocol is the version of the exchange with a measuring process. It changes with the fields
// of spec and their meaning. The result is a line of a result file, which has its own version.
const protocol = 1

// A Build is a program that can measure: this one, or another build of the lab.
type Build struct {
	Path string `json:"-"` // of the program, absolute

	Protocol int               `json:"protocol"`
	Schema   int               `json:"schema"` // of the results it writes
	Arch     string            `json:"arch"`   // GOARCH
	Go       string            `json:"go"`     // runtime.Version
	Commit   string            `json:"commit"`
	Modules  map[string]string `json:"modules"`
	Locks    []string          `json:"locks"`
	Overhead result.Overhead   `json:"overhead"`
}

func describe(suite []*harness.Variant) Build {
	b := Build{
		Protocol: protocol, Schema: result.Schema, Arch: runtime.GOARCH, Go: runtime.Version(),
		Commit: machine.BuildCommit(), Modules: machine.Modules(), Overhead: Calibrate().Overhead(),
	}
	for _, v := range suite {
		b.Locks = append(b.Locks, v.Name)
	}
	return b
}

const introduction = 10 * time.Second

// AskBuild starts the program in file path and reads its description. The error wraps
// harness.ErrUsage if it is not a build of the lab, or is incompatible with this program.
func AskBuild(ctx context.Context, path string) (Build, error) {
	refuse := func(format string, args ...any) (Build, error) {
		return Build{}, fmt.Errorf("%w: %s "+format, append([]any{harness.ErrUsage, path}, args...)...)
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return refuse("cannot be found: %v", err)
	}
	if _, err := exec.LookPath(abs); err != nil {
		return refuse("cannot be started: %v", errors.Unwrap(err))
	}
	heard, err := ask(ctx, spec{Describe: true, exe: abs}, introduction)
	if ctx.Err() != nil {
		return Build{}, fmt.Errorf("measure: %w", context.Cause(ctx))
	}
	if err != nil {
		return refuse("does not answer as a locklab of protocol %d does; a build from before there was --interleave cannot (%v)", protocol, err)
	}
	var b Build
	if err := json.Unmarshal(heard.answer, &b); err != nil || b.Protocol == 0 {
		return refuse("is not a build of locklab that can be commanded: it did not say which protocol it speaks")
	}
	if b.Protocol != protocol || b.Schema != result.Schema {
		return refuse("speaks protocol %d and schema %d, this program %d and %d: build both binaries and this one from commits that agree",
			b.Protocol, b.Schema, protocol, result.Schema)
	}
	b.Path = abs
	return b, nil
}
