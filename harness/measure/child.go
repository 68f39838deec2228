package measure

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
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

	Shared     []share       // several locks in one process; nil is Lock alone
	Block      time.Duration // the length of their blocks
	Windowless bool          // they have no window

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
	jobs, err := s.jobs(suite)
	if err != nil {
		return err
	}
	if s.Shared != nil {
		return measureShared(context.Background(), in, jobs, s, out)
	}
	job := jobs[0]
	job.ready = func() { tell(out, told{At: atWork}) }
	if s.Meets {
		job.together = &checkpoints{out: out, begins: begins}
	}
	res, err := Measure(context.Background(), in, job)
	if err != nil {
		return err
	}
	return writeResult(out, res, s.Round)
}

func writeResult(out io.Writer, res *result.Result, round int) error {
	res.Round = round
	text, err := result.Encode(result.Record{Result: res})
	if err == nil {
		_, err = out.Write(text)
	}
	if err != nil {
		err = fmt.Errorf("measure: measuring process: %w", err)
	}
	return err
}

type share struct {
	Lock    string
	Key     string
	Passes  int // in which it takes part
	PerPass int // blocks
	Access
}

func (s *spec) jobs(suite []*harness.Variant) (jobs []Job, err error) {
	shares := s.Shared
	if shares == nil {
		shares = []share{{Lock: s.Lock, Key: s.Key, Access: s.Access}}
	}
	for i, x := range shares {
		k := slices.IndexFunc(suite, func(v *harness.Variant) bool { return v.Name == x.Lock })
		if k < 0 {
			return nil, fmt.Errorf("measure: measuring process: no lock is called %q", x.Lock)
		}
		jobs = append(jobs, Job{Lock: suite[k], Workload: s.Workload, At: x.Endpoint(), Key: x.Key, Seed: s.Seed + uint64(i)<<24, first: s.First})
	}
	return jobs, nil
}

func spawn(ctx context.Context, s spec, limit time.Duration) (*result.Result, error) {
	heard, err := ask(ctx, s, limit)
	if s.relay != nil {
		err = s.relay.end(ctx, err)
	}
	if err != nil {
		return nil, err
	}
	all, err := results(heard.answer)
	if len(all) == 0 {
		return nil, cmp.Or(err, heard.silent())
	}
	return all[0], s.answered(all[0])
}

// results returns the results in the output of a measuring process. The error describes a line
// without one.
func results(text []byte) (out []*result.Result, bad error) {
	for line := range bytes.Lines(bytes.TrimSpace(text)) {
		record, err := result.Decode(bytes.TrimSpace(line))
		switch {
		case err != nil:
			bad = err
		case record.Result == nil:
			bad = errors.New("measure: a measuring process did not print a result")
		default:
			out = append(out, record.Result)
		}
	}
	return out, bad
}

// answered finds an older build, which ignores an unknown axis.
func (s *spec) answered(r *result.Result) error {
	if r.Workload == s.Workload {
		return nil
	}
	return &lostError{err: fmt.Errorf("measure: it measured %s, not %s: its build lacks an axis of the workload", r.Workload.Name(), s.Workload.Name())}
}

// ask starts a measuring process with s, and returns its output at its end, also with an
// error. The process may be served for limit.
func ask(ctx context.Context, s spec, limit time.Duration) (heard, error) {
	text, err := json.Marshal(s)
	if err != nil {
		return heard{}, fmt.Errorf("measure: %w", err)
	}
	if s.exe == "" {
		if s.exe, err = machine.Executable(); err != nil {
			return heard{}, fmt.Errorf("measure: %w", err)
		}
	}
	cmd := exec.Command(s.exe)
	cmd.Env = append(os.Environ(), childEnv+"=1")
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return heard{}, fmt.Errorf("measure: %w", err)
	}
	stdout, stderr := new(listener), &child.Output{Most: 1 << 20} // the trace of a process with many goroutines is long
	cmd.Stdout, cmd.Stderr = stdout, stderr
	if s.relay != nil {
		stdout.meet = func() { s.relay.answer(ctx, stdin) }
	}
	proc, err := child.Start(cmd)
	if err != nil {
		return heard{}, fmt.Errorf("measure: cannot start a measuring process: %w", err)
	}
	distributed := s.At.Kind != "" || slices.ContainsFunc(s.Shared, func(x share) bool { return x.At.Kind != "" })
	hangs := killHung(proc, countServed(proc.PID(), distributed), limit)
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

// An Access is an endpoint in transit. It has credentials and must go only into a pipe.
type Access struct {
	At                 harness.Endpoint
	Username, Password string
	TLS                bool
	ServerName         string
	Roots              []byte
	RootsFile          string
}

// NewAccess returns the access to at.
func NewAccess(at harness.Endpoint) Access {
	a := Access{At: at, Username: at.Username, Password: at.Password}
	if at.TLS != nil {
		a.TLS, a.ServerName, a.Roots, a.RootsFile = true, at.TLS.ServerName, at.Roots, at.RootsFile
	}
	return a
}

// Endpoint returns the endpoint.
func (a Access) Endpoint() harness.Endpoint {
	at := a.At
	at.Username, at.Password = a.Username, a.Password
	if a.TLS {
		at.TLS = &tls.Config{MinVersion: tls.VersionTLS12, ServerName: a.ServerName}
		if at.Roots, at.RootsFile = a.Roots, a.RootsFile; len(at.Roots) > 0 {
			at.TLS.RootCAs = x509.NewCertPool()
			at.TLS.RootCAs.AppendCertsFromPEM(at.Roots)
		}
	}
	return at
}

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
	return Build{
		Protocol: protocol, Schema: result.Schema, Arch: runtime.GOARCH, Go: runtime.Version(),
		Commit: machine.BuildCommit(), Modules: machine.Modules(), Overhead: Calibrate().Overhead(),
		Locks: result.Each(suite, func(v *harness.Variant) string { return v.Name }),
	}
}

const introduction = 10 * time.Second

// AskBuild starts the program in file path and reads its description. The error wraps
// harness.ErrUsage if it is not a build of the lab, or is incompatible with this program.
func AskBuild(ctx context.Context, path string) (Build, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return Build{}, refuse("%s cannot be found: %v", path, err)
	}
	if _, err := exec.LookPath(abs); err != nil {
		return Build{}, refuse("%s cannot be started: %v", path, errors.Unwrap(err))
	}
	heard, err := ask(ctx, spec{Describe: true, exe: abs}, introduction)
	if ctx.Err() != nil {
		return Build{}, fmt.Errorf("measure: %w", context.Cause(ctx))
	}
	if err != nil {
		return Build{}, refuse("%s does not answer as a locklab of protocol %d does; a build older than --interleave cannot (%v)", path, protocol, err)
	}
	var b Build
	if err := json.Unmarshal(heard.answer, &b); err != nil || b.Protocol == 0 {
		return Build{}, refuse("%s is not a build of locklab with --interleave: it reported no protocol version", path)
	}
	if b.Protocol != protocol || b.Schema != result.Schema {
		return Build{}, refuse("%s speaks protocol %d and schema %d, this program %d and %d: build both binaries and this one from commits that agree",
			path, b.Protocol, b.Schema, protocol, result.Schema)
	}
	b.Path = abs
	return b, nil
}
