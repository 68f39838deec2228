package measure

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"runtime/debug"
	"slices"
	"time"

	"locklab/harness"
	"locklab/harness/result"
	"locklab/internal/child"
	"locklab/internal/machine"
)

// childEnv makes a process measure a case from standard input and write a line of a result
// file. It ends when its input does, so that it cannot outlive its parent.
const childEnv = "LOCKLAB_MEASURE"

// A spec is a case in transit to the measuring process.
type spec struct {
	Lock     string
	Workload harness.Workload
	Round    int
	Seed     uint64
	Key      string
	Machine  calibration
	Describe bool // measure nothing: describe the program
	Meets    bool // begin together with other ranks: see Plan.Together
	First    int  // the number of its first worker among all ranks

	exe   string // the program to start; "" is this one
	relay *relay // if it meets

	Shared []share // several locks in one process; nil is Lock alone

	Access
}

// Main returns at once in an ordinary process. In a measuring process it measures one lock of
// suite and never returns. It must be the first line of main.
func Main(suite []*harness.Variant) {
	if os.Getenv(childEnv) == "" {
		return
	}
	// The parent, which gets the same signal from the terminal, decides.
	signal.Ignore(os.Interrupt)
	s, begins, err := hear(os.Stdin)
	if err == nil {
		err = measureAs(suite, s, begins, os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		tell(os.Stdout, told{Failed: err.Error(), Usage: errors.Is(err, harness.ErrUsage)})
		os.Exit(exitFailed)
	}
	os.Exit(0)
}

// The exit statuses of a measuring process.
const (
	exitFailed = 1
	exitOrphan = 3
)

// hear reads the case and start signals, and ends the process at the end of in.
func hear(in io.Reader) (s spec, begins <-chan int64, err error) {
	dec := json.NewDecoder(in)
	if err := dec.Decode(&s); err != nil {
		return s, nil, fmt.Errorf("measure: measuring process: %w", err)
	}
	heard := make(chan int64, len(points))
	go func() {
		for dec := json.NewDecoder(io.MultiReader(dec.Buffered(), in)); ; {
			var at int64
			if dec.Decode(&at) != nil {
				os.Exit(exitOrphan)
			}
			select {
			case heard <- at:
			default: // more signals than points
			}
		}
	}()
	return s, heard, nil
}

func measureAs(suite []*harness.Variant, s spec, begins <-chan int64, out io.Writer) error {
	if s.Describe {
		return json.NewEncoder(out).Encode(describe(suite))
	}
	// A garbage collection inside the window would be charged to the lock. The limit keeps
	// a lock that allocates from exhausting the memory in a long run.
	debug.SetGCPercent(-1)
	debug.SetMemoryLimit(1 << 30)
	tell(out, told{At: atCalibration})
	in := s.Machine.instruments()
	tell(out, told{At: atLock})
	if s.Shared != nil {
		return s.measureShared(suite, in, out)
	}
	lock, err := named(suite, s.Lock)
	if err != nil {
		return err
	}
	job := Job{Lock: lock, Workload: s.Workload, At: s.Endpoint(), Key: s.Key, Seed: s.Seed, first: s.First,
		ready: func() { tell(out, told{At: atWork}) }}
	if s.Meets {
		job.together = &checkpoints{out: out, begins: begins}
	}
	res, err := Measure(context.Background(), in, job)
	if err != nil {
		return err
	}
	res.Round = s.Round
	text, err := result.Encode(result.Record{Result: res})
	if err != nil {
		return err
	}
	if _, err := out.Write(text); err != nil {
		return fmt.Errorf("measure: measuring process: %w", err)
	}
	return nil
}

func named(suite []*harness.Variant, name string) (*harness.Variant, error) {
	for _, v := range suite {
		if v.Name == name {
			return v, nil
		}
	}
	return nil, fmt.Errorf("measure: measuring process: no lock is called %q", name)
}

type share struct {
	Lock string
	Key  string
	Access
}

func (s spec) measureShared(suite []*harness.Variant, in *Instruments, out io.Writer) error {
	var jobs []Job
	for i, x := range s.Shared {
		lock, err := named(suite, x.Lock)
		if err != nil {
			return err
		}
		jobs = append(jobs, Job{Lock: lock, Workload: s.Workload, At: x.Endpoint(), Key: x.Key, Seed: s.Seed + uint64(i)<<24})
	}
	return measureShared(context.Background(), in, jobs, s, out)
}

func spawn(ctx context.Context, s spec, limit time.Duration) (*harness.Result, error) {
	heard, err := ask(ctx, s, limit)
	if s.relay != nil {
		err = s.relay.end(ctx, err)
	}
	if err != nil {
		return nil, err
	}
	answer := bytes.TrimSpace(heard.answer)
	if len(answer) == 0 {
		return nil, heard.silent()
	}
	record, err := result.Decode(answer)
	if err == nil && record.Result == nil {
		err = errors.New("measure: a measuring process did not print a result")
	}
	if err != nil {
		return nil, err
	}
	return record.Result, s.answered(record.Result)
}

// answered returns an error if r has another workload: an older build ignores an unknown axis.
func (s *spec) answered(r *harness.Result) error {
	if r.Workload == s.Workload {
		return nil
	}
	return &lostError{err: fmt.Errorf("measure: it measured %s, not %s: it does not know an axis of the workload", r.Workload.Name(), s.Workload.Name())}
}

// ask starts a measuring process with s, and returns its output at its end, also with an
// error. The process may be served for limit.
func ask(ctx context.Context, s spec, limit time.Duration) (heard, error) {
	text, err := json.Marshal(s)
	if err != nil {
		return heard{}, fmt.Errorf("measure: %w", err)
	}
	cmd, err := s.program()
	if err != nil {
		return heard{}, fmt.Errorf("measure: %w", err)
	}
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return heard{}, fmt.Errorf("measure: %w", err)
	}
	stdout, stderr := new(listener), &child.Head{Most: 1 << 20} // the trace of a process with many goroutines is long
	cmd.Stdout, cmd.Stderr = stdout, stderr
	if s.relay != nil {
		stdout.meet = func() { s.relay.answer(ctx, stdin) }
	}
	proc, err := child.Start(cmd)
	if err != nil {
		return heard{}, fmt.Errorf("measure: cannot start a measuring process: %w", err)
	}
	hangs := killHung(proc, s.watchdog(proc.PID()), limit)
	defer context.AfterFunc(ctx, proc.Kill)()
	_, werr := stdin.Write(append(text, '\n'))
	err = proc.Err() // its end closes stdin
	hung, said := hangs(), stdout.end()
	switch {
	case ctx.Err() != nil:
		err = fmt.Errorf("measure: %w", context.Cause(ctx))
	case hung:
		err = overdue(said, limit)
	case err != nil:
		err = fate(err, said, stderr.String())
	case werr != nil:
		err = fmt.Errorf("measure: %w", werr)
	}
	return said, err
}

// program returns the command of the measuring process.
func (s *spec) program() (*exec.Cmd, error) {
	exe := s.exe
	if exe == "" {
		var err error
		if exe, err = machine.Executable(); err != nil {
			return nil, err
		}
	}
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), childEnv+"=1")
	cmd.WaitDelay = time.Second // for a process that left its group and holds the output open
	return cmd, nil
}

// watchdog returns the time in which process pid could have measured s.
func (s *spec) watchdog(pid int) func(step time.Duration) time.Duration {
	served := machine.NewServed(pid).Count
	if s.At.Kind != "" || slices.ContainsFunc(s.Shared, func(x share) bool { return x.At.Kind != "" }) {
		served = starvation(served, machine.Watch())
	}
	return served
}

// killHung kills a process that has not ended although it could run for limit. The returned
// function ends the watch and reports whether the process was killed.
func killHung(proc *child.Process, served func(step time.Duration) time.Duration, limit time.Duration) (killed func() bool) {
	end, hung := make(chan struct{}), make(chan bool, 1)
	go func() {
		// A process that does not hang takes about a quarter of limit, and is not disturbed.
		for wait := limit / 4; ; wait = min(wait, time.Second/2) {
			select {
			case <-end:
				hung <- false
				return
			case <-time.After(wait):
			}
			if served(wait) >= limit {
				proc.Kill()
				hung <- true
				return
			}
		}
	}()
	return func() bool { close(end); return <-hung }
}
