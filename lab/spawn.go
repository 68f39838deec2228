package lab

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/spf13/pflag"

	"locklab/harness/measure"

	"locklab/internal/backend"
	"locklab/internal/child"
	"locklab/internal/machine"
)

// partsSuffix follows the name of a run's directory in its parts' names.
const partsSuffix = ".ranks"

// leaveTime is how long ranks have to end after a request, before they are ended.
const leaveTime = 15 * time.Second

// runSpawned measures by several processes on this machine, its ranks, and merges what they
// measure. They meet at a server that is none of those measured, unless the user names one.
func (o *runOptions) runSpawned(ctx context.Context, flags *pflag.FlagSet, stdout, stderr io.Writer) error {
	at := o.RankOptions
	if at.Sync != "" {
		if err := measure.CheckRanks(ctx, at); err != nil { // once, and not in each rank
			return err
		}
	}
	plan, servers, _, err := o.ready(ctx, flags, stderr)
	defer servers.Stop()
	if err != nil {
		return err
	}
	dir, beside, err := o.room()
	if err != nil {
		return err
	}
	if at.Sync == "" {
		s, err := backend.StartRedisOf(ctx, backend.RedisOptions{})
		if err != nil {
			return fmt.Errorf("ranks need a Redis server to meet at: %w", err)
		}
		defer s.Stop()
		at.Sync = "redis://" + s.Endpoint().Addrs[0][0]
	}
	command, err := json.Marshal(o.commandLine())
	err = errors.Join(err, os.Setenv(commandVariable, string(command)), os.Setenv(syncVariable, at.Sync))
	for s, endpoint := range plan.Endpoints {
		err = errors.Join(err, os.Setenv(variable(s.Kind), strings.Join(endpoint.Addrs[0], ",")))
	}
	if err != nil {
		return err
	}
	parts, statuses, err := o.spawnRanks(ctx, beside, plan.RunID, stderr)
	if err != nil {
		return err
	}
	return o.conclude(ctx, dir, parts, statuses, stdout, stderr)
}

// room returns the directory of the run, which must not exist, and makes the one of its parts.
func (o *runOptions) room() (dir, parts string, err error) {
	dir = filepath.Clean(outOrNew(o.out))
	parts = dir + partsSuffix
	if err := claim(dir, o.replace); err != nil {
		return "", "", err
	}
	if o.replace {
		if err := os.RemoveAll(parts); err != nil {
			return "", "", usage("cannot remove the parts of the earlier run: %v", err)
		}
	}
	if claim(parts, false) != nil {
		return "", "", usage("%s is not empty: merge its parts with '%s merge', choose another directory by --out, or let --replace remove them", parts, o.program.Name)
	}
	if err := os.MkdirAll(parts, 0o755); err != nil {
		return "", "", usage("%v", err)
	}
	return dir, parts, nil
}

// spawnRanks starts the ranks with the flags of the plan, and waits until all have ended. The end
// of ctx interrupts them. The environment names their servers.
func (o *runOptions) spawnRanks(ctx context.Context, dir, job string, stderr io.Writer) (parts []string, statuses []error, err error) {
	exe, err := machine.Executable()
	if err != nil {
		return nil, nil, err
	}
	var started []*child.Process
	defer func() {
		for _, p := range started { // ended ones are left alone
			p.Kill()
		}
	}()
	for rank := range o.Ranks {
		part := filepath.Join(dir, fmt.Sprint(rank))
		cmd := exec.Command(exe, "run", "--rank", fmt.Sprint(rank), "--job", job, "--out", part)
		for name, value := range o.chosen {
			cmd.Args = append(cmd.Args, "--"+name+"="+value)
		}
		cmd.Stderr = stderr
		p, err := child.Start(cmd)
		if err != nil {
			return nil, nil, fmt.Errorf("cannot start rank %d: %w", rank, err)
		}
		parts, started = append(parts, part), append(started, p)
	}
	defer context.AfterFunc(ctx, func() {
		for _, p := range started {
			_ = p.Signal(os.Interrupt) // it may have ended
		}
		time.Sleep(leaveTime)
		for _, p := range started {
			p.Kill()
		}
	})()
	return parts, untilEnded(started, stderr), nil
}

// untilEnded returns how each rank has ended. When one has failed the others end soon, but for
// one that is stopped, or hangs, which is ended.
func untilEnded(all []*child.Process, stderr io.Writer) (statuses []error) {
	late := make(chan struct{})
	var once sync.Once
	for _, p := range all {
		go func() {
			if p.Err() != nil {
				once.Do(func() { time.AfterFunc(lossTime, func() { close(late) }) })
			}
		}()
	}
	for rank, p := range all {
		select {
		case <-p.Done():
		case <-late:
			fmt.Fprintf(stderr, "rank %d was still running %v after another failed, and is killed\n", rank, lossTime)
			p.Kill()
		}
		statuses = append(statuses, p.Err())
	}
	return statuses
}

// lossTime is by when a rank has ended after another's failure: it notices within ten seconds.
const lossTime = 20 * time.Second

// conclude merges the parts and writes the report. It returns the worst of the statuses,
// and merges nothing if a rank could not begin, which has printed why.
func (o *runOptions) conclude(ctx context.Context, dir string, parts []string, statuses []error, stdout, stderr io.Writer) (worst error) {
	for rank, err := range statuses {
		code := 0
		if exit, ok := errors.AsType[*exec.ExitError](err); ok {
			code = exit.ExitCode()
		}
		switch {
		case err == nil, code == exitFailed: // the merge reports a broken promise
		case code == exitUsage:
			return fmt.Errorf("rank %d could not begin", rank)
		case ctx.Err() != nil:
			worst = errInterrupted
		default:
			if code != exitUnfit { // which it has explained
				fmt.Fprintf(stderr, "%s: rank %d ended: %v\n", o.program.Name, rank, err)
			}
			worst = errUnfit
		}
	}
	merr := mergeRuns(new(saver), parts, dir, stdout, stderr)
	switch {
	case merr == nil, errors.Is(merr, errViolations), errors.Is(merr, errDropped):
		merr = errors.Join(merr, reportRun(stdout, dir, o.guarantees))
	default:
		fmt.Fprintf(stderr, "%s: the parts are in %s and were not merged\n", o.program.Name, filepath.Dir(parts[0]))
	}
	return cmp.Or(worst, merr)
}
