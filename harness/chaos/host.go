package chaos

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"locklab/harness"
	"locklab/harness/oracle"
	"locklab/internal/child"
	"locklab/internal/machine"
)

// A Host is a process with workers: a pause or a crash hits all of them.
type Host struct {
	t    *Try
	proc *child.Process
	in   io.WriteCloser
	said *child.Output

	mu      sync.Mutex
	enc     *json.Encoder
	last    int                  // command
	waiting map[int]chan message // for their answers
	workers []*Worker
	pauses  []pause

	heard  atomic.Int64  // time of its last message
	ending atomic.Bool   // it is being ended or killed
	gone   error         // why it sends nothing more; set before done is closed
	done   chan struct{} // closed at the end of its messages
}

// A pause is a time during which the try stopped a process; to is 0 while it lasts.
type pause struct{ from, to int64 }

// A Worker is a client of a lock, or one of several workers of a client.
type Worker struct {
	ID   int
	Host *Host
	Lock *Subject
}

// Host starts a process for workers. It ends with the try.
func (t *Try) Host() *Host {
	cmd := exec.Command(must(machine.Executable()))
	cmd.Env = append(os.Environ(), workerEnv+"=1")
	h := &Host{t: t, waiting: make(map[int]chan message), done: make(chan struct{}), said: &child.Output{Most: 64 << 10}}
	cmd.Stderr = h.said
	out := must(cmd.StdoutPipe())
	h.in = must(cmd.StdinPipe())
	h.enc = json.NewEncoder(h.in)
	h.proc = must(child.Start(cmd))
	go h.listen(out)
	t.mu.Lock()
	t.hosts = append(t.hosts, h)
	t.mu.Unlock()
	return h
}

// Hosts starts n processes.
func (t *Try) Hosts(n int) []*Host {
	hosts := make([]*Host, n)
	for i := range hosts {
		hosts[i] = t.Host()
	}
	return hosts
}

func (h *Host) listen(out io.Reader) {
	dec := json.NewDecoder(bufio.NewReader(out))
	for {
		var m message
		if err := dec.Decode(&m); err != nil {
			break
		}
		h.receive(m)
	}
	h.gone = errGone
	if !h.ending.Load() {
		h.gone = h.crash()
	}
	close(h.done)
}

// crash returns an error with the output of a process that ended unexpectedly.
func (h *Host) crash() error {
	select {
	case <-h.proc.Done():
	case <-time.After(grace):
	}
	var told []string
	for line := range strings.Lines(h.said.String()) {
		line = strings.TrimSpace(line)
		if len(told) > 0 || strings.HasPrefix(line, "panic:") || strings.HasPrefix(line, "fatal error:") {
			told = append(told, line)
		}
	}
	if len(told) == 0 {
		return fmt.Errorf("%w: %s", errCrashed, child.LastWords(h.said.String()))
	}
	return fmt.Errorf("%w: %s", errCrashed, strings.Join(told[:min(len(told), crashLines)], "; "))
}

const crashLines = 12

func (t *Try) crashed() {
	for _, h := range listed(&t.mu, &t.hosts) {
		if closed(h.done) && errors.Is(h.gone, errCrashed) {
			for _, w := range listed(&h.mu, &h.workers) {
				w.Lock.fail(h.gone)
			}
		}
	}
}

var errGone = errors.New("chaos: the worker process is gone")

var errCrashed = errors.New("chaos: the worker process has crashed")

func (h *Host) receive(m message) {
	h.heard.Store(now())
	switch {
	case m.Delay != nil:
		h.delayed(m.Delay.From, m.Delay.To)
	case m.Event != nil:
		h.worker(m.Worker).Lock.record(*m.Event)
	case m.Write:
		h.worker(m.Worker).Lock.write(m.Worker, m.Token, m.Shared)
		h.mu.Lock()
		h.enc.Encode(command{Do: doJudged, Worker: m.Worker})
		h.mu.Unlock()
	default:
		h.mu.Lock()
		answer := h.waiting[m.ID]
		delete(h.waiting, m.ID)
		h.mu.Unlock()
		if answer != nil {
			answer <- m
		}
	}
}

func (h *Host) worker(id int) *Worker {
	workers := listed(&h.mu, &h.workers)
	return workers[slices.IndexFunc(workers, func(w *Worker) bool { return w.ID == id })]
}

// listed returns the elements so far of a list that grows under mu.
func listed[T any](mu *sync.Mutex, list *[]T) []T {
	mu.Lock()
	defer mu.Unlock()
	return *list
}

func (h *Host) ask(ctx context.Context, c command) error {
	answer := make(chan message, 1)
	h.mu.Lock()
	h.last++
	c.ID = h.last
	h.waiting[c.ID] = answer
	_ = h.enc.Encode(c) // an error means that the process has ended; gone is the reason
	h.mu.Unlock()
	select {
	case m := <-answer:
		if m.Error == "" {
			return nil
		}
		return &remoteError{m.Error, kinds[m.Kind]}
	case <-h.done:
		return h.gone
	case <-ctx.Done():
		return fmt.Errorf("chaos: a worker did not answer: %w", context.Cause(ctx))
	}
}

// Open connects a client of a lock to the servers at, and returns its first worker.
func (h *Host) Open(ctx context.Context, s *Subject, at harness.Endpoint) *Worker {
	return h.open(ctx, s, at, -1)
}

// Join adds a worker to the client of w.
func (w *Worker) Join(ctx context.Context) *Worker {
	return w.JoinAs(ctx, w.Lock)
}

func (w *Worker) group(ctx context.Context, n int) []*Worker {
	ws := []*Worker{w}
	for len(ws) < n {
		ws = append(ws, w.Join(ctx))
	}
	return ws
}

// JoinAs is Join for another lock of the same client: see [Subject.Another].
func (w *Worker) JoinAs(ctx context.Context, s *Subject) *Worker {
	return w.Host.open(ctx, s, harness.Endpoint{}, w.ID)
}

func (h *Host) open(ctx context.Context, s *Subject, at harness.Endpoint, with int) *Worker {
	h.t.Stage.starting.Add(1)
	defer h.t.Stage.starting.Add(-1)
	w := &Worker{ID: int(h.t.workers.Add(1)) - 1, Host: h, Lock: s}
	h.mu.Lock()
	h.workers = append(h.workers, w)
	h.mu.Unlock()
	o := &opening{Lock: s.Variant.Name, Key: s.Key, At: at, With: with, Username: at.Username, Password: at.Password}
	if err := h.ask(ctx, command{Do: doOpen, Worker: w.ID, Open: o}); err != nil {
		check(fmt.Errorf("%s: connect: %w", s.Variant.Name, err))
	}
	return w
}

func (w *Worker) do(ctx context.Context, c command) error {
	c.Worker = w.ID
	return w.Host.ask(ctx, c)
}

// Acquire waits for the lock until ctx ends, or for timeout if that is not 0. If the
// error wraps harness.ErrNotAcquired or another lock error, the lock returned it.
func (w *Worker) Acquire(ctx context.Context, timeout time.Duration) error {
	return w.do(ctx, command{Do: doLock, Timeout: timeout})
}

// AcquireShared is Acquire for reading, if the lock has readers, without a timeout.
func (w *Worker) AcquireShared(ctx context.Context) error {
	return w.do(ctx, command{Do: doLock, Shared: true})
}

// TryAcquire makes one attempt.
func (w *Worker) TryAcquire(ctx context.Context, timeout time.Duration) error {
	return w.do(ctx, command{Do: doTry, Timeout: timeout})
}

// Begin starts Acquire without waiting: its error arrives on the channel.
func (w *Worker) Begin(ctx context.Context, timeout time.Duration) <-chan error {
	done := make(chan error, 1)
	w.Host.t.work.Go(func() { done <- w.Acquire(ctx, timeout) })
	return done
}

// Release releases the worker's last acquisition, held or lost.
func (w *Worker) Release(ctx context.Context) error { return w.do(ctx, command{Do: doUnlock}) }

// ReleaseOuter releases the worker's first acquisition.
func (w *Worker) ReleaseOuter(ctx context.Context) error { return w.do(ctx, command{Do: doOuter}) }

// ReleaseAgain repeats the worker's last release.
func (w *Worker) ReleaseAgain(ctx context.Context) error { return w.do(ctx, command{Do: doAgain}) }

// Write writes to the guarded resource with the token of the acquisition, held or lost.
func (w *Worker) Write(ctx context.Context) error { return w.do(ctx, command{Do: doWrite}) }

// WriteHeld is Write, but does nothing if the worker's lease has ended.
func (w *Worker) WriteHeld(ctx context.Context) error { return w.do(ctx, command{Do: doWriteHeld}) }

// Loop makes the worker lock and unlock until Stop.
func (w *Worker) Loop(ctx context.Context, l Loop) {
	l.Seed = w.Host.t.Seed
	check(w.do(ctx, command{Do: doLoop, Loop: &l}))
}

// Stop ends a loop or a waiting Acquire.
func (w *Worker) Stop(ctx context.Context) error { return w.do(ctx, command{Do: doStop}) }

func (h *Host) each(kind oracle.EventKind) {
	at := now()
	for _, w := range listed(&h.mu, &h.workers) {
		w.Lock.record(oracle.Event{At: at, Worker: w.ID, Kind: kind})
	}
}

// Pause stops the process and its children, as SIGSTOP does.
func (h *Host) Pause() {
	from := now()
	check(signalTree(h.proc.PID(), true))
	h.each(oracle.Paused)
	h.mu.Lock()
	h.pauses = append(h.pauses, pause{from: from})
	h.mu.Unlock()
}

// Resume continues a paused process.
func (h *Host) Resume() {
	h.each(oracle.Resumed) // before, so that later actions of the process have later times
	err := signalTree(h.proc.PID(), false)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.pauses[len(h.pauses)-1].to = now()
	check(err)
}

// Kill ends the process as kill -9 does.
func (h *Host) Kill() {
	h.ending.Store(true)
	h.proc.Kill()
	<-h.done
	h.each(oracle.Killed)
}

// end ends the process. Its clients may close until ctx ends.
func (h *Host) end(ctx context.Context) {
	h.ending.Store(true)
	if h.runs() {
		h.in.Close()
		select {
		case <-h.proc.Done():
		case <-ctx.Done():
		}
	}
	h.proc.Kill()
	<-h.done
}
