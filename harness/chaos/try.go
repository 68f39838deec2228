package chaos

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"locklab/harness"
	"locklab/harness/oracle"
	"locklab/harness/result"
)

// A Try is one failure, made once, and the affected locks.
type Try struct {
	*Stage
	Number   int        // 0 is the first
	Seed     uint64     // of this try
	Rand     *rand.Rand // drawn from Seed; only for the goroutine of Scenario.Try
	Subjects []*Subject

	scenario *Scenario
	mu       sync.Mutex
	delays   []oracle.Delay
	hosts    []*Host
	closers  []func()
	workers  atomic.Int32 // so far
	work     sync.WaitGroup
	over     int64 // end of the judged part; 0 is the end of Scenario.Try
}

// A Subject is one lock in a try, with a unique name on the servers.
type Subject struct {
	Variant *harness.Variant
	Key     string
	Rand    *rand.Rand // drawn from Try.Seed; only for the goroutine of the lock in Try.Each
	clients

	mu        sync.Mutex
	history   record
	guarded   oracle.Resource
	anomalies map[oracle.Anomaly]bool
	notes     []string
	figures   []result.FaultFigure
	failed    error // why the fault could not be made for it
	ended     error // of the step that the deadline ended

	timed []timedAnomaly // as anomalies
}

// clients are the workers of a lock that a scenario needs in more than one step.
type clients struct {
	first   *Worker   // has held the lock before the holders
	holders []*Worker // one per permit
	next    *Worker   // waits for the holders
	late    *Worker   // arrives after the fault
	all     []*Worker // for settle
	links   wire      // of the first of them
	rest    func()    // of Try.around
}

func (s *Subject) record(e oracle.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.history.add(e)
}

func (s *Subject) events() oracle.History {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.history.until(math.MaxInt64))
}

func (s *Subject) write(worker int, token uint64, shared bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	taken := s.guarded.Take(token, shared)
	s.history.add(oracle.Event{At: now(), Worker: worker, Kind: oracle.Wrote, Token: token, Shared: shared, Taken: taken})
}

// Show reports an anomaly that the history cannot show, with a description.
func (s *Subject) Show(h oracle.Anomaly, format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.notes = append(s.notes, string(h)+": "+fmt.Sprintf(format, args...))
	s.anomalies[h] = true
}

// ShowTimed is Show for an anomaly that lasted from from to to. It is not the lock's fault if
// the machine kept a process from running for longer than spare in that time.
func (s *Subject) ShowTimed(h oracle.Anomaly, from, to int64, spare time.Duration, format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.timed = append(s.timed, timedAnomaly{oracle.Finding{Anomaly: h, From: from, To: to, Text: fmt.Sprintf(format, args...)}, spare})
}

type timedAnomaly struct {
	oracle.Finding
	spare time.Duration
}

// Note adds a line to the result.
func (s *Subject) Note(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.notes = append(s.notes, fmt.Sprintf(format, args...))
}

// Figure reports a quantity of this try.
func (s *Subject) Figure(name, unit string, value float64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.figures = append(s.figures, result.FaultFigure{Name: name, Unit: unit, Values: []float64{value}})
}

func (s *Subject) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failed == nil {
		s.failed = err
	}
}

// stopAt notes that the deadline ended a step of s, or of the try with err. The history is judged.
func (s *Subject) stopAt(deadline time.Duration, err error) {
	if errors.Is(s.failed, errDeadline) {
		err, s.failed = s.failed, nil
	}
	if s.ended = err; err != nil {
		s.Note("the try ended at its deadline of %v: %v", deadline, err)
	}
}

func (s *Subject) broken() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.failed != nil
}

// Another returns a lock of the same variant with another key, which clients of s can
// take as well: see [Worker.JoinAs]. Only the scenario judges it.
func (s *Subject) Another(key string) *Subject {
	return &Subject{Variant: s.Variant, Key: key, history: newRecord(s.history.most / 4)}
}

// Each calls f for every lock at the same time, except failed ones. A step of f that fails
// ends the try of that lock, which does not count. Each fails only if no lock is left.
func (t *Try) Each(f func(s *Subject)) {
	var wg sync.WaitGroup
	for _, s := range t.Subjects {
		if s.broken() {
			continue
		}
		wg.Go(func() {
			if err := steps(func() { f(s) }); err != nil {
				s.fail(err)
			}
		})
	}
	wg.Wait()
	var errs []error
	for _, s := range t.Subjects {
		if !s.broken() {
			return
		}
		errs = append(errs, s.failed)
	}
	check(errors.Join(errs...))
}

func (t *Try) around(fault func(), f func(s *Subject) (rest func())) {
	t.Each(func(s *Subject) { s.rest = f(s) })
	fault()
	t.Each(func(s *Subject) { s.rest() })
}

func perLock(processes int, f func(ctx context.Context, t *Try, s *Subject, hosts []*Host)) func(context.Context, *Try) {
	return func(ctx context.Context, t *Try) {
		hosts := t.Hosts(processes)
		t.Each(func(s *Subject) { f(ctx, t, s, hosts) })
	}
}

// Fault records in the histories of all locks what is being done to servers or connections.
func (t *Try) Fault(format string, args ...any) {
	for _, s := range t.Subjects {
		s.Fault(format, args...)
	}
}

// Over records in all histories that the fault has been undone.
func (t *Try) Over(format string, args ...any) {
	for _, s := range t.Subjects {
		s.Over(format, args...)
	}
}

// Fault is Try.Fault for one lock.
func (s *Subject) Fault(format string, args ...any) { s.mark(oracle.Fault, format, args) }

// Over is Try.Over for one lock.
func (s *Subject) Over(format string, args ...any) { s.mark(oracle.Over, format, args) }

func (s *Subject) mark(kind oracle.EventKind, format string, args []any) {
	s.record(oracle.Event{At: now(), Worker: -1, Kind: kind, Text: fmt.Sprintf(format, args...)})
}

// Defer registers f to be called when the try ends, in reverse order.
func (t *Try) Defer(f func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.closers = append(t.closers, f)
}

// Sleep waits for d, or until ctx ends.
func (t *Try) Sleep(ctx context.Context, d time.Duration) { sleep(ctx, d) }

func (t *Try) random(ctx context.Context, d time.Duration) {
	sleep(ctx, time.Duration(t.Rand.Int64N(int64(d))))
}

// Until polls done until it returns true. It fails if ctx ends first.
func (t *Try) Until(ctx context.Context, what string, done func() bool) {
	if !poll(ctx, math.MaxInt64, done) {
		check(fmt.Errorf("chaos: waiting for %s: %w", what, context.Cause(ctx)))
	}
}

// AwaitGrant waits, up to most, until a worker has been granted the lock later than after,
// in ns on the clock of the events. It returns false if that did not happen.
func (s *Subject) AwaitGrant(ctx context.Context, most time.Duration, after int64) bool {
	return poll(ctx, most, func() bool { return s.granted(after) })
}

func poll(ctx context.Context, most time.Duration, done func() bool) bool {
	ctx, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	for ctx.Err() == nil {
		if done() {
			return true
		}
		sleep(ctx, 5*time.Millisecond)
	}
	return false
}

func (s *Subject) granted(after int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.history.last > after
}

// Conclude ends the judged part of the histories: later actions do not count against the lock.
func (t *Try) Conclude() { t.over = now() }

// Now reads the clock of the events, in ns.
func (t *Try) Now() int64 { return now() }

const grace = time.Second

func (t *Try) end() {
	ctx, cancel := context.WithTimeout(context.Background(), grace)
	defer cancel()
	var wg sync.WaitGroup
	for _, h := range listed(&t.mu, &t.hosts) {
		wg.Go(func() { h.end(ctx) })
	}
	wg.Wait()
	t.work.Wait()
	for _, f := range slices.Backward(listed(&t.mu, &t.closers)) {
		f()
	}
}

// StopAll ends the loops of all workers, within the grace time. It returns the number of
// workers of each lock that still wait for it then: they are stuck, as their histories show.
func (t *Try) StopAll(ctx context.Context) map[*Subject]int {
	ctx, cancel := context.WithTimeout(ctx, grace)
	defer cancel()
	var wg sync.WaitGroup
	var mu sync.Mutex
	waiting := make(map[*Subject]int)
	for _, h := range listed(&t.mu, &t.hosts) {
		if !h.runs() {
			continue
		}
		for _, w := range listed(&h.mu, &h.workers) {
			wg.Go(func() {
				if w.Stop(ctx) != nil {
					mu.Lock()
					defer mu.Unlock()
					waiting[w.Lock]++
				}
			})
		}
	}
	wg.Wait()
	for _, h := range listed(&t.mu, &t.hosts) {
		if from, to := h.heard.Load(), now(); h.runs() && to-from > 2*aliveBeats*int64(beat) {
			h.delayed(from, to) // it has become silent
		}
	}
	return waiting
}
