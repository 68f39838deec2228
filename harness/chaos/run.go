package chaos

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"sync"
	"time"

	"locklab/harness"
)

// A Plan is which scenarios are tried on which locks, and how often.
type Plan struct {
	Scenarios []*Scenario
	Locks     []*harness.Variant // those that a scenario does not apply to are left out

	// Tries is how often each scenario is tried on each lock; 0 is Scenario.Tries, or
	// Scenario.Short if Short is set.
	Tries int
	Short bool

	Seed uint64 // of all that is random; the same one makes the same tries

	// Parallel is how many scenarios are tried at the same time, each with servers of
	// its own; 0 is one. Times are those of a busier machine then.
	Parallel int

	// Budget, if not 0, is for how long tries are begun: each scenario is tried once in
	// any case, and again as long as it is ahead of its share of the time.
	Budget time.Duration

	// Dir is where histories of harm are kept; "" keeps none.
	Dir string

	// Memory is how many bytes of events the histories of a try may take in memory, all
	// together; 0 is DefaultMemory. What is more goes to files in Dir, or if that is ""
	// in the system's directory for temporary files. They have no names, so that they go
	// with the process, however it ends. One at a time is read back to be judged.
	Memory int

	// Done, which may be nil, returns how many tries there have been before that count,
	// and how many in all: they are not made again.
	Done func(scenario, lock string) (count, all int)

	// Begin, which may be nil, hears of each try before it is made. Neither it nor keep
	// is called by two goroutines at once.
	Begin func(Progress)
}

// Progress is how far a plan has come.
type Progress struct {
	Scenario *Scenario
	Locks    int // that the try is made for
	Try, Of  int // from 1
}

// keepAfter is how long results are gathered before they are handed on.
const keepAfter = 20 * time.Second

// Run makes the tries, and hands results on to keep as they come: those of a scenario
// and a lock in parts, which add up. It returns the error of keep, or that ctx has
// ended; what was finished before has been handed on.
func (p *Plan) Run(ctx context.Context, keep func(*harness.FaultResult) error) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var keeping sync.Mutex
	one := func(r *harness.FaultResult) error {
		keeping.Lock()
		defer keeping.Unlock()
		return keep(r)
	}
	begin := func(at Progress) {
		keeping.Lock()
		defer keeping.Unlock()
		if p.Begin != nil {
			p.Begin(at)
		}
	}
	var wg sync.WaitGroup
	free := make(chan struct{}, max(1, p.Parallel))
	began := time.Now()
	for i, s := range p.Scenarios {
		share := p.Budget * time.Duration(i+1) / time.Duration(len(p.Scenarios))
		for _, group := range p.groups(s) {
			select {
			case free <- struct{}{}:
			case <-ctx.Done():
			}
			if ctx.Err() != nil { // whichever was first
				break
			}
			wg.Go(func() {
				defer func() { <-free }()
				b := &batch{plan: p, scenario: s, stage: new(Stage), keep: one, begin: begin}
				if p.Budget > 0 {
					b.until = began.Add(share)
				}
				defer b.stage.close()
				if err := b.run(ctx, group); err != nil {
					stop(err) // the first counts
				}
			})
		}
	}
	wg.Wait()
	if err := context.Cause(ctx); err != nil {
		return err
	}
	return nil
}

// tries returns how often s is tried on each lock.
func (p *Plan) tries(s *Scenario) int {
	switch {
	case p.Tries > 0:
		return p.Tries
	case p.Short:
		return s.Short
	}
	return s.Tries
}

// groups returns the locks that s is tried on, those together that are tried at the
// same time.
func (p *Plan) groups(s *Scenario) (groups [][]*harness.Variant) {
	var all []*harness.Variant
	for _, v := range p.Locks {
		if v.Remote != nil && s.Applies(v.Describe()) {
			all = append(all, v)
		}
	}
	if s.Alone {
		for _, v := range all {
			groups = append(groups, []*harness.Variant{v})
		}
		return groups
	}
	if len(all) > 0 {
		groups = append(groups, all)
	}
	return groups
}

// A batch is the tries of one scenario on some locks.
type batch struct {
	plan     *Plan
	scenario *Scenario
	stage    *Stage
	keep     func(*harness.FaultResult) error
	begin    func(Progress)
	pending  []*harness.FaultResult // in the order of the locks
	since    time.Time
	until    time.Time      // when no second try is begun; zero is never
	saved    map[string]int // histories, by lock
	count    map[string]int // tries that count, or could not be made, by lock
}

func (b *batch) run(ctx context.Context, locks []*harness.Variant) error {
	tries := b.plan.tries(b.scenario)
	done := make(map[string]int)
	b.count = make(map[string]int)
	for _, v := range locks {
		if b.plan.Done != nil {
			b.count[v.Name], done[v.Name] = b.plan.Done(b.scenario.Name, v.Name)
		}
	}
	lost := make(map[string]int) // tries in a row that could not be made
	b.since = time.Now()
	for n := range tries + spareTries(tries) {
		if n > 0 && !b.until.IsZero() && time.Now().After(b.until) {
			break
		}
		var at []*harness.Variant
		for _, v := range locks {
			if n >= done[v.Name] && b.count[v.Name] < tries && lost[v.Name] < mostFailures {
				at = append(at, v)
			}
		}
		at, err := b.runnable(at, n == 0)
		if err != nil {
			return err
		}
		if len(at) == 0 {
			continue
		}
		b.begin(Progress{b.scenario, len(at), min(n+1, tries), tries})
		if err := b.try(ctx, at, n, lost); err != nil {
			return errors.Join(err, b.flush(true))
		}
		if time.Since(b.since) > keepAfter {
			if err := b.flush(false); err != nil {
				return err
			}
		}
	}
	return b.flush(false)
}

// mostFailures is how often in a row a fault that cannot be made is tried.
const mostFailures = 3

// spareTries is how many tries are made at most for those that do not count because the
// machine did not run a process.
func spareTries(tries int) int { return 3 + tries/4 }

// runnable leaves out the locks that cannot run here, and says so the first time.
func (b *batch) runnable(locks []*harness.Variant, say bool) (out []*harness.Variant, err error) {
	for _, v := range locks {
		if v.Unavailable == "" {
			out = append(out, v)
			continue
		}
		if say {
			r := b.scenario.result(v)
			r.Skipped = v.Unavailable
			err = errors.Join(err, b.keep(r))
		}
	}
	return out, err
}

// try makes the fault once. Its error ends the run.
func (b *batch) try(ctx context.Context, locks []*harness.Variant, n int, lost map[string]int) error {
	t := b.newTry(locks, n)
	defer t.forget()
	unwatch := t.watch()
	defer unwatch()
	began := time.Now()
	tctx, end := t.limit(ctx, b.scenario.Deadline)
	err := b.scenario.Try(tctx, t)
	over := cmp.Or(t.over, now())
	if err != nil && tctx.Err() != nil && ctx.Err() == nil {
		// The locks did not do by the deadline what the scenario waits for: what they
		// did is judged.
		for _, s := range t.Subjects {
			s.Note("the try ended at its deadline of %v: %v", b.scenario.Deadline, err)
		}
		err = nil
	}
	t.StopAll(ctx)
	unwatch()
	t.crashed()
	end()
	t.end()
	if ctx.Err() != nil {
		return fmt.Errorf("chaos: %w", context.Cause(ctx))
	}
	for _, s := range t.Subjects {
		if err != nil {
			s.fail(err)
		}
		r := b.judge(t, s, over)
		r.Elapsed = time.Since(began)
		b.count[r.Lock.Name] += r.Tries + r.Failed
		lost[r.Lock.Name] = (lost[r.Lock.Name] + 1) * r.Failed
		if errors.Is(s.failed, harness.ErrUnavailable) { // nor will it be
			lost[r.Lock.Name] = mostFailures
		}
		b.add(r)
	}
	return nil
}

// newTry returns try n for these locks.
func (b *batch) newTry(locks []*harness.Variant, n int) *Try {
	h := fnv.New64a()
	fmt.Fprintf(h, "%d %s %d", b.plan.Seed, b.scenario.Name, n)
	seed := h.Sum64()
	t := &Try{Stage: b.stage, Number: n, Seed: seed, Rand: rand.New(rand.NewPCG(seed, uint64(n))), scenario: b.scenario}
	for _, v := range locks {
		key := fmt.Sprintf("chaos-%s-%s-%s-%d", strconv.FormatInt(int64(os.Getpid()), 36), b.scenario.Name, v.Name, n)
		h := record{dir: b.plan.Dir, most: min(mostEvents/len(locks), mostOfOne), room: cmp.Or(b.plan.Memory, DefaultMemory) / len(locks)}
		t.Subjects = append(t.Subjects, &Subject{Variant: v, Key: key, history: h})
	}
	return t
}

// forget frees what the histories take.
func (t *Try) forget() {
	for _, s := range t.Subjects {
		s.drop()
	}
}

// add keeps r until the next flush.
func (b *batch) add(r *harness.FaultResult) {
	i := slices.IndexFunc(b.pending, r.Same)
	if i < 0 {
		b.pending = append(b.pending, r)
		return
	}
	b.pending[i].Add(r)
}

// flush hands on what has been gathered.
func (b *batch) flush(interrupted bool) error {
	for _, r := range b.pending {
		r.Interrupted = interrupted
		if r.Tries == 0 && r.Failed > 0 && len(r.Notes) > 0 {
			r.Skipped, r.Notes = r.Notes[0], r.Notes[1:] // why the fault could not be made
		}
		if err := b.keep(r); err != nil {
			return err
		}
	}
	b.pending, b.since = nil, time.Now()
	return nil
}
