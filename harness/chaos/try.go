package chaos

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"math/rand/v2"
	"sync"
	"time"

	"locklab/harness"
	"locklab/harness/oracle"
	"locklab/internal/backend"
)

// A Try is one failure, made once, and the locks that it is made to.
type Try struct {
	*Stage
	Number   int        // 0 is the first
	Seed     uint64     // of this try
	Rand     *rand.Rand // drawn from Seed; for the one goroutine of Scenario.Try
	Subjects []*Subject

	scenario *Scenario
	mu       sync.Mutex
	watching *watch
	hosts    []*Host
	own      []*backend.Server // of this try alone
	closers  []func()
	last     int // number of a worker
	work     sync.WaitGroup
	over     int64 // when what is judged ended; 0 is with Scenario.Try
}

// A Subject is one lock in a try, with a name of its own on the servers.
type Subject struct {
	Variant *harness.Variant
	Key     string

	mu      sync.Mutex
	history record
	guarded resource
	harms   map[harness.Harm]bool
	notes   []string
	figures []harness.FaultFigure
	failed  error // why the fault could not be made for it

	timed  []timedHarm    // as harms
	others []*Subject     // of the same clients
	spared []harness.Harm // of it these are the fault's, and no harm of the lock
}

func (s *Subject) record(e oracle.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.history.add(e)
}

// visit calls f with each event so far, by time. f must not use s. That the history is
// not whole is seen when it is judged.
func (s *Subject) visit(f func(e *oracle.Event)) {
	s.until(math.MaxInt64, func(events iter.Seq[*oracle.Event]) {
		for e := range events {
			f(e)
		}
	})
}

// until calls f with the events up to a moment, by time, through which it must go, and
// once; f must not use s. The error says that some are missing.
func (s *Subject) until(end int64, f func(events iter.Seq[*oracle.Event])) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.history.replay(end)
	f(p.events)
	return p.err
}

// A resource is what a lock guards: it remembers the greatest token that came with a
// write, and refuses lesser ones (Kleppmann 2016, "How to do distributed locking").
type resource struct {
	greatest, writer uint64 // of all, of those that do not share
}

func (r *resource) take(token uint64, shared bool) bool {
	if shared {
		if token < r.writer {
			return false
		}
		r.greatest = max(r.greatest, token)
		return true
	}
	if token < r.greatest {
		return false
	}
	r.greatest, r.writer = token, token
	return true
}

// write lets what the lock guards take a write, at one moment for all workers.
func (s *Subject) write(worker int, token uint64, shared bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	taken := s.guarded.take(token, shared)
	s.history.add(oracle.Event{At: now(), Worker: worker, Kind: oracle.Wrote, Token: token, Shared: shared, Taken: taken})
	return taken
}

// Show reports a harm that the history cannot show, with what was seen.
func (s *Subject) Show(h harness.Harm, format string, args ...any) {
	s.show(h, fmt.Sprintf("%s: "+format, append([]any{h}, args...)...))
}

func (s *Subject) show(h harness.Harm, text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.notes = append(s.notes, text)
	if s.harms == nil {
		s.harms = make(map[harness.Harm]bool)
	}
	s.harms[h] = true
}

// ShowTimed is Show of a harm that took from a moment to another, and is none of the lock
// if the machine kept a process from running for longer than spare of that time.
func (s *Subject) ShowTimed(h harness.Harm, from, to int64, spare time.Duration, format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.timed = append(s.timed, timedHarm{h, from, to, spare, fmt.Sprintf("%s: "+format, append([]any{h}, args...)...)})
}

// A timedHarm is a harm that a try has shown, and when.
type timedHarm struct {
	harm     harness.Harm
	from, to int64
	spare    time.Duration
	text     string
}

// Note keeps a line for the result.
func (s *Subject) Note(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.notes = append(s.notes, fmt.Sprintf(format, args...))
}

// Figure reports a quantity of this try.
func (s *Subject) Figure(name, unit string, value float64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.figures = append(s.figures, harness.FaultFigure{Name: name, Unit: unit, Values: []float64{value}})
}

// fail says that the fault could not be made for this lock.
func (s *Subject) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failed == nil {
		s.failed = err
	}
}

// broken reports whether the fault could not be made for it.
func (s *Subject) broken() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.failed != nil
}

// Another returns a lock of the same variant by another key, which clients of s can take
// as well: see [Worker.JoinAs]. It is judged as s is, and what it does counts with s, but
// for harms that are spared: those that are the fault's. Its times count if none is.
func (s *Subject) Another(key string, spared ...harness.Harm) *Subject {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.history.most /= 2
	s.history.room /= 2
	h := record{dir: s.history.dir, most: s.history.most, room: s.history.room}
	o := &Subject{Variant: s.Variant, Key: key, history: h, spared: spared}
	s.others = append(s.others, o)
	return o
}

// Each does f for every lock at the same time, but for those that have failed. An
// error of f says that the fault could not be made for that lock: its try does not
// count. Each returns an error only if none is left.
func (t *Try) Each(f func(s *Subject) error) error {
	var wg sync.WaitGroup
	for _, s := range t.Subjects {
		if s.broken() {
			continue
		}
		wg.Go(func() {
			if err := f(s); err != nil {
				s.fail(err)
			}
		})
	}
	wg.Wait()
	var errs []error
	for _, s := range t.Subjects {
		if !s.broken() {
			return nil
		}
		errs = append(errs, s.failed)
	}
	return errors.Join(errs...)
}

// Fault tells the histories of all locks what is being done to servers or
// connections.
func (t *Try) Fault(format string, args ...any) {
	for _, s := range t.Subjects {
		s.Fault(format, args...)
	}
}

// Fault is Try.Fault for one lock.
func (s *Subject) Fault(format string, args ...any) {
	s.record(oracle.Event{At: now(), Worker: -1, Kind: oracle.Fault, Text: fmt.Sprintf(format, args...)})
}

// Over tells the histories that it has been undone.
func (t *Try) Over(format string, args ...any) {
	for _, s := range t.Subjects {
		s.record(oracle.Event{At: now(), Worker: -1, Kind: oracle.Over, Text: fmt.Sprintf(format, args...)})
	}
}

// Defer has f called when the try ends, the last first.
func (t *Try) Defer(f func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.closers = append(t.closers, f)
}

func (t *Try) number() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.last++
	return t.last - 1
}

// Sleep waits for d, or until ctx ends.
func (t *Try) Sleep(ctx context.Context, d time.Duration) { sleep(ctx, d) }

// Until asks again and again whether done until it is, and returns an error if ctx
// ends first.
func (t *Try) Until(ctx context.Context, what string, done func() bool) error {
	for pause := time.Millisecond; !done(); pause = min(2*pause, 20*time.Millisecond) {
		sleep(ctx, pause)
		if ctx.Err() != nil {
			return fmt.Errorf("chaos: waiting for %s: %w", what, context.Cause(ctx))
		}
	}
	return nil
}

// AwaitGrant waits until a worker has been granted the lock after a moment on the
// clock of the events, or ctx ends, and reports whether it was.
func (s *Subject) AwaitGrant(ctx context.Context, after int64) bool {
	for ctx.Err() == nil {
		if s.granted(after) {
			return true
		}
		sleep(ctx, 5*time.Millisecond)
	}
	return false
}

// granted reports whether a worker has been granted the lock after a moment.
func (s *Subject) granted(after int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.history.last > after
}

// Conclude ends what is judged of the histories. What a scenario does afterwards, such
// as to stop the loops and see what they leave, is its own doing and not the lock's.
func (t *Try) Conclude() { t.over = now() }

// drop forgets what has happened.
func (s *Subject) drop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.history.close()
	for _, o := range s.others {
		o.drop()
	}
}

// Now reads the clock of the events, in ns.
func (t *Try) Now() int64 { return now() }

// grace is for how long the workers of a try may take to end.
const grace = time.Second

// end ends everything that the try has started.
func (t *Try) end() {
	ctx, cancel := context.WithTimeout(context.Background(), grace)
	defer cancel()
	t.mu.Lock()
	hosts, closers := t.hosts, t.closers
	t.mu.Unlock()
	var wg sync.WaitGroup
	for _, h := range hosts {
		wg.Go(func() { h.end(ctx) })
	}
	wg.Wait()
	t.work.Wait()
	for i := len(closers) - 1; i >= 0; i-- {
		closers[i]()
	}
}

// StopAll ends the loops of all workers, for as long as the grace lasts: those that
// still wait for a lock then are stuck, as their histories show.
func (t *Try) StopAll(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, grace)
	defer cancel()
	t.mu.Lock()
	hosts := t.hosts
	t.mu.Unlock()
	var wg sync.WaitGroup
	for _, h := range hosts {
		h.mu.Lock()
		workers, stopped := h.workers, h.stopped
		h.mu.Unlock()
		if !stopped {
			wg.Go(func() { h.answers(ctx) })
		}
		for _, w := range workers {
			if !stopped {
				wg.Go(func() { w.Stop(ctx) })
			}
		}
	}
	wg.Wait()
}
