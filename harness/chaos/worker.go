package chaos

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"sync"
	"time"

	"locklab/harness"
	"locklab/harness/oracle"
)

const workerEnv = "LOCKLAB_CHAOS_WORKER"

// Main returns at once in an ordinary process. In a process that a scenario has started
// it executes the scenario's commands with the locks of suite, and never returns. It must
// come first in main, and in TestMain of tests that run scenarios.
func Main(suite []*harness.Variant) {
	if os.Getenv(workerEnv) == "" {
		return
	}
	// The parent receives the same signal from the terminal and decides.
	signal.Ignore(os.Interrupt)
	serve(suite, os.Stdin, os.Stdout)
	os.Exit(0)
}

func serve(suite []*harness.Variant, in io.Reader, out io.Writer) {
	p := &process{pulse: pulse{now()}, suite: suite, out: json.NewEncoder(out), workers: make(map[int]*worker)}
	stop := make(chan struct{})
	defer close(stop)
	go p.live(stop)
	dec := json.NewDecoder(in)
	for {
		var c command
		if err := dec.Decode(&c); err != nil {
			return
		}
		switch c.Do {
		case doJudged:
			p.worker(c.Worker).judged <- struct{}{}
		default:
			p.worker(c.Worker).do(c)
		}
	}
}

type process struct {
	suite []*harness.Variant

	mu      sync.Mutex
	out     *json.Encoder
	workers map[int]*worker
	pulse   pulse
}

// live reports periodically that the process runs, and at once after a time without running.
func (p *process) live(stop <-chan struct{}) {
	n := 0
	every(stop, beat, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.ran()
		if n++; n%aliveBeats == 0 {
			p.out.Encode(message{Delay: &oracle.Delay{From: p.pulse.last, To: p.pulse.last}})
		}
	})
}

// aliveBeats is the number of beats after which a process shows that it runs.
const aliveBeats = 50

// ran reports a time without running, if any, before any later message. The caller holds p.mu.
func (p *process) ran() {
	p.pulse.beat(func(from, to int64) { p.out.Encode(message{Delay: &oracle.Delay{From: from, To: to}}) })
}

func (p *process) send(m message) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ran()
	p.out.Encode(m) // an error can be ignored: the parent is gone
}

func (p *process) answer(c command, err error) {
	m := message{ID: c.ID, Worker: c.Worker}
	if err != nil {
		m.Error = err.Error()
		m.Kind = max(0, slices.IndexFunc(kinds, func(k error) bool { return errors.Is(err, k) }))
	}
	p.send(m)
}

// kinds are the errors that messages name by number; the first is no such error. The first match
// counts: an error for a lock that is not held may also report a loss.
var kinds = []error{nil, harness.ErrNotHeld, harness.ErrNotAcquired, harness.ErrUnavailable, context.DeadlineExceeded}

type remoteError struct {
	text string
	kind error // one of kinds, or nil
}

func (e *remoteError) Error() string { return e.text }
func (e *remoteError) Unwrap() error { return e.kind }

func (p *process) worker(id int) *worker {
	p.mu.Lock()
	defer p.mu.Unlock()
	w := p.workers[id]
	if w == nil {
		w = &worker{p: p, id: id, judged: make(chan struct{}, 1)}
		w.ready()
		p.workers[id] = w
	}
	return w
}

// write returns when the resource has judged the write: no later holder may write before.
func (w *worker) write(h *holding) {
	w.p.send(message{Worker: w.id, Write: true, Token: h.lease.Token(), Shared: h.shared})
	<-w.judged
}

// A worker executes one command at a time, and can be stopped in the middle of it.
type worker struct {
	p  *process
	id int

	mu      sync.Mutex // held during a command
	remote  harness.Remote
	key     string // of its lock
	session harness.Session
	judged  chan struct{} // its write was; it makes one at a time

	// holds are the acquisitions not yet released, the latest at the end: several of a
	// reentrant lock, or of a lock that was lost and not released.
	holds []*holding
	last  harness.Lease   // last one unlocked
	ctx   context.Context // for its Lock and its loop

	stops  sync.Mutex
	cancel context.CancelFunc // of ctx; guarded by stops
}

func (w *worker) do(c command) {
	if c.Do == doStop {
		w.stops.Lock()
		w.cancel()
		w.stops.Unlock()
	}
	go func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		switch c.Do {
		case doOpen:
			w.p.answer(c, w.open(c.Open))
		case doLock, doTry:
			_, err := w.lock(c.Do == doTry, c.Shared, c.Timeout)
			w.p.answer(c, err)
		case doUnlock:
			w.p.answer(c, w.unlock())
		case doOuter:
			slices.Reverse(w.holds)
			w.p.answer(c, w.unlock())
			slices.Reverse(w.holds)
		case doAgain:
			w.p.answer(c, w.last.Unlock(context.Background()))
		case doWrite, doWriteHeld:
			w.p.answer(c, w.writeAs(c.Do == doWrite))
		case doLoop:
			w.p.answer(c, nil)
			w.loop(c.Loop)
		case doStop:
			w.ready()
			w.p.answer(c, nil)
		default:
			w.p.answer(c, fmt.Errorf("chaos: a worker cannot %q", c.Do))
		}
	}()
}

// ready makes the worker able to wait for a lock, also after a stop.
func (w *worker) ready() {
	w.stops.Lock()
	defer w.stops.Unlock()
	w.ctx, w.cancel = context.WithCancel(context.Background())
}

func (w *worker) event(e oracle.Event) {
	e.Worker = w.id
	w.p.send(message{Worker: w.id, Event: &e})
}

const opened = 30 * time.Second

func (w *worker) open(o *opening) error {
	ctx, cancel := context.WithTimeout(w.ctx, opened)
	defer cancel()
	w.key = o.Key
	var err error
	if o.With >= 0 {
		err = w.join(o)
	} else if i := slices.IndexFunc(w.p.suite, func(v *harness.Variant) bool { return v.Name == o.Lock }); i >= 0 {
		o.At.Username, o.At.Password = o.Username, o.Password
		w.remote, err = w.p.suite[i].Remote(ctx, o.At, o.Key)
	}
	if err == nil && w.remote == nil {
		err = fmt.Errorf("chaos: no client of %q", o.Lock)
	}
	if err == nil {
		w.session, err = w.remote.Join(ctx, w.id)
	}
	return err
}

func (w *worker) lock(try, shared bool, timeout time.Duration) (*holding, error) {
	if w.session == nil {
		return nil, errors.New("chaos: the client is not open")
	}
	ctx, cancel := w.ctx, context.CancelFunc(func() {})
	if timeout > 0 {
		ctx, cancel = context.WithTimeout(w.ctx, timeout)
	}
	defer cancel()
	call, kind := w.session.Lock, oracle.Asked
	if try {
		s, ok := w.session.(harness.TrySession)
		if !ok {
			return nil, fmt.Errorf("%w: the lock has no TryLock", harness.ErrUsage)
		}
		call, kind = s.TryLock, oracle.Tried
	} else if rw, ok := w.session.(harness.RWSession); ok && shared {
		call = rw.RLock
	} else {
		shared = false
	}
	w.event(oracle.Event{At: now(), Kind: kind, Shared: shared})
	lease, err := call(ctx)
	at := now()
	switch {
	case err == nil:
	case try && errors.Is(err, harness.ErrNotAcquired):
		w.event(oracle.Event{At: at, Kind: oracle.Refused, Shared: shared})
		return nil, err
	default:
		w.event(oracle.Event{At: at, Kind: oracle.Failed, Shared: shared, Text: err.Error()})
		return nil, err
	}
	h := &holding{lease: lease, shared: shared, deadline: until(lease)}
	w.event(oracle.Event{At: at, Kind: oracle.Granted, Shared: shared, Token: lease.Token(), Deadline: h.deadline})
	w.holds = append(w.holds, h)
	go w.watch(h)
	return h, nil
}

func until(l harness.Lease) int64 {
	t, ok := l.Deadline()
	if !ok || t.IsZero() {
		return 0
	}
	return now() + int64(time.Until(t))
}

func (w *worker) unlock() error {
	n := len(w.holds)
	if n == 0 {
		return fmt.Errorf("chaos: %w", harness.ErrNotHeld)
	}
	h := w.holds[n-1]
	w.holds, w.last = w.holds[:n-1], h.lease
	h.mu.Lock()
	switch {
	case h.over:
	case h.lease.Err() != nil: // a loop learns of that when watch does
		w.recordLoss(h)
	default:
		h.over = true
		w.event(oracle.Event{At: now(), Kind: oracle.Releasing, Token: h.lease.Token(), Shared: h.shared, Deadline: until(h.lease)})
	}
	h.mu.Unlock()
	err := h.lease.Unlock(context.Background())
	e := oracle.Event{At: now(), Kind: oracle.Released, Token: h.lease.Token(), Shared: h.shared}
	if err != nil {
		e.Text = err.Error()
	}
	w.event(e)
	return err
}

// writeAs writes with the latest acquisition. Unless blind, it does nothing if its lease has ended.
func (w *worker) writeAs(blind bool) error {
	n := len(w.holds)
	if n == 0 {
		return fmt.Errorf("chaos: %w", harness.ErrNotHeld)
	}
	if h := w.holds[n-1]; blind || h.lease.Err() == nil {
		w.write(h)
	}
	return nil
}
