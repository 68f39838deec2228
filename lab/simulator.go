package lab

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"time"

	"locklab/harness"
	"locklab/harness/result"
	"locklab/harness/simulate"
	"locklab/internal/child"
)

const (
	simulateTags = "systematic,simulate" // of the build that simulates
	serveFlag    = "serve"
)

var (
	errNoBuild    = errors.New("the build of this program that simulates is missing")
	errOtherBuild = usage("the build with the tags %s only answers requests of simulate in the usual build, and no other build does", simulateTags)
	errEnded      = errors.New("the program that simulates ended")
)

// A simulateRequest asks the build that simulates for a simulation.
type simulateRequest struct {
	Machine  *simulate.Machine
	Lock     string
	Workload simulate.Workload
	Seeds    int
}

// A simulateReply is the outcome of a request, or an error of the model or the lock.
type simulateReply struct {
	Simulation *result.Simulation
	Error      string
}

// serveSimulations writes an empty reply, and then one to each request until in ends.
func (p *Program) serveSimulations(in io.Reader, out io.Writer) error {
	requests, replies := json.NewDecoder(in), json.NewEncoder(out)
	err := replies.Encode(simulateReply{})
	for err == nil {
		var q simulateRequest
		if err = requests.Decode(&q); errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = replies.Encode(p.simulateRequested(q))
		}
	}
	return fmt.Errorf("lab: %w", err)
}

func (p *Program) simulateRequested(q simulateRequest) simulateReply {
	i := slices.IndexFunc(p.Locks, func(v *harness.Variant) bool { return v.Name == q.Lock })
	if i < 0 {
		return simulateReply{Error: "the build that simulates has no lock " + q.Lock}
	}
	s, err := simulate.Simulate(q.Machine, p.Locks[i], q.Workload, q.Seeds)
	if err != nil {
		return simulateReply{Error: err.Error()}
	}
	return simulateReply{Simulation: &s}
}

// A simulator is a process of the build that simulates.
type simulator struct {
	*child.Process
	requests *json.Encoder
	replies  *json.Decoder
}

// startSimulator starts cmd, which ends with ctx.
func startSimulator(ctx context.Context, cmd *exec.Cmd) (*simulator, error) {
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("lab: %w", err)
	}
	replies, out := io.Pipe()
	last := &child.Tail{Most: 1 << 12}
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = out, last, time.Second
	c, err := child.Start(cmd)
	if err != nil {
		return nil, err
	}
	context.AfterFunc(ctx, c.Kill)
	go func() {
		why := cmp.Or(c.Err(), io.ErrUnexpectedEOF)
		out.CloseWithError(fmt.Errorf("%w: %w: %s", errEnded, why, child.LastWords(last.String())))
	}()
	s := &simulator{Process: c, requests: json.NewEncoder(in), replies: json.NewDecoder(replies)}
	return s, s.replies.Decode(new(simulateReply))
}

// ask returns the reply to q. The error has the reason for a missing reply.
func (s *simulator) ask(q simulateRequest) (r simulateReply, err error) {
	_ = s.requests.Encode(q) // if the program has ended, Decode returns why
	if err := s.replies.Decode(&r); err != nil {
		return r, fmt.Errorf("%s with %d workers: %w", q.Lock, q.Workload.Workers, err)
	}
	return r, nil
}

// openSimulator starts the build that simulates by the go command. The source is in the directory
// of the main function's file, or else the working directory is in its module.
func (p *Program) openSimulator(ctx context.Context, stderr io.Writer) (*simulator, error) {
	dir, pkg := filepath.Dir(p.mainFile), "."
	if !filepath.IsAbs(dir) {
		info, _ := debug.ReadBuildInfo() // the go command makes programs with it
		dir, pkg = ".", cmp.Or(info, new(debug.BuildInfo)).Path
	}
	cmd := exec.Command("go", "run", "-tags", simulateTags, pkg, "simulate", "--"+serveFlag)
	cmd.Dir = dir
	slow := time.AfterFunc(5*time.Second, func() {
		fmt.Fprintln(stderr, "building the program that simulates: half a minute the first time")
	})
	defer slow.Stop()
	s, err := startSimulator(ctx, cmd)
	switch {
	case ctx.Err() != nil:
		return nil, errInterrupted
	case err != nil:
		return nil, usage("%w: go run -tags %s %s in %s: %w", errNoBuild, simulateTags, pkg, dir, err)
	}
	return s, nil
}

// runCases simulates cases one after the other, shows the progress and calls report for
// each that did not fail.
func (s *simulator) runCases(ctx context.Context, stderr io.Writer, cases []simulateRequest, report func(*result.Simulation) error) (failed int, err error) {
	show := newProgress(stderr)
	defer show.clear()
	advance := show.parts("simulate")
	for i, c := range cases {
		r, err := s.ask(c)
		switch {
		case ctx.Err() != nil:
			return failed, nil
		case err != nil:
			return failed, err
		case r.Error != "":
			failed++
			show.lasting("FAILED " + result.OneLine(r.Error))
		default:
			if err := report(r.Simulation); err != nil {
				return failed, err
			}
		}
		advance(i+1, len(cases))
	}
	return failed, nil
}
