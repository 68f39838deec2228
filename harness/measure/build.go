package measure

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
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

// RunBuilds is [Plan.Run] for builds in the same rounds. They measure a case one right after
// the other, in a random order, so that a disturbance affects all. report gets each build's
// index.
func (p *Plan) RunBuilds(ctx context.Context, builds []Build, report func(build int, at Progress) error) error {
	if err := p.ready(); err != nil {
		return err
	}
	n, known := len(builds), calibrate()
	serial, total := 0, len(p.Cases)*p.Rounds*n
	start, lost := time.Now(), make([]int, n)
	draw := rand.New(rand.NewPCG(p.Seed, uint64(p.Rounds)))
	for round := range p.Rounds {
		for _, i := range p.order(round, len(p.Cases)) {
			for _, b := range draw.Perm(n) {
				c, by := p.Cases[i], *p
				by.exe = builds[b].Path
				res, err := by.measureTwice(ctx, c, known, round, serial)
				why := lostBy(err)
				if err != nil && (why == nil || ctx.Err() != nil) {
					return errors.Join(ctx.Err(), err)
				}
				serial++
				left := time.Since(start) / time.Duration(serial) * time.Duration(total-serial)
				if err := report(b, Progress{Case: c, Round: round, Done: serial, Total: total, Left: left, Result: res, Lost: why}); err != nil {
					return err
				}
				if lost[b]++; why == nil {
					lost[b] = 0
				}
				if lost[b] == maxLost {
					return fmt.Errorf("%w: %s: %d cases in a row gave no result, the last: %w", ErrGaveUp, builds[b].Path, lost[b], why)
				}
			}
		}
	}
	return nil
}
