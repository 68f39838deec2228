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
	"locklab/harness/oracle"
	"locklab/harness/result"
	"locklab/internal/backend"
)

// A Plan selects the scenarios and locks to try, and how often.
type Plan struct {
	Scenarios []*Scenario
	Locks     []*harness.Variant // locks that a scenario does not apply to are left out

	Tries int // per scenario and lock; 0 is Scenario.Tries

	Seed uint64 // of all randomness except the jitter of messages

	// Parallel is the number of scenarios tried at the same time, each with its own
	// servers; 0 is one. The machine is then busier, and times are longer.
	Parallel int

	// Budget, if not 0, is the time after which no try is started, except the first of each
	// scenario. Each scenario is repeated while it is ahead of its share of the time.
	Budget time.Duration

	// Dir is the directory for histories of anomalies; "" keeps none.
	Dir string

	// Done, which may be nil, returns the number of earlier tries that count, and of
	// all earlier tries: they are not repeated.
	Done func(scenario, lock string) (count, all int)

	// Begin, which may be nil, is called before each try. Calls of Begin and keep
	// never overlap.
	Begin func(Progress)

	// Started, which may be nil, is called with the version of each started server, likewise.
	Started func(kind, version string)
}

// Progress is the progress of a plan.
type Progress struct {
	Scenario *Scenario
	Locks    int // number of locks in the try
	Try, Of  int // from 1
}

const keepAfter = 20 * time.Second

// Run makes the tries and passes results to keep as they arrive, in parts that add up. It
// returns the error of keep or of ctx; results finished before have been passed on.
func (p *Plan) Run(ctx context.Context, keep func(*result.FaultResult) error) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var keeping sync.Mutex
	one := func(r *result.FaultResult) error {
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
	started := func(s *backend.Server) {
		keeping.Lock()
		defer keeping.Unlock()
		if p.Started != nil {
			p.Started(s.Endpoint().Kind, s.Version())
		}
	}
	var wg sync.WaitGroup
	free := make(chan struct{}, max(1, p.Parallel))
	began := time.Now()
	for i, s := range p.inOrder() {
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
				b := &batch{plan: p, scenario: s, stage: &Stage{servers: make(map[string]*backend.Server), started: started}, keep: one, begin: begin, saved: make(map[string]int)}
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
	return context.Cause(ctx)
}

// inOrder puts the longest scenarios first if several run at the same time, so that the last to end is
// not one that began late.
func (p *Plan) inOrder() []*Scenario {
	if p.Parallel <= 1 {
		return p.Scenarios
	}
	return slices.SortedStableFunc(slices.Values(p.Scenarios), func(a, b *Scenario) int { return b.Takes - a.Takes })
}

func (p *Plan) tries(s *Scenario) int { return cmp.Or(max(0, p.Tries), s.Tries) }

func (p *Plan) groups(s *Scenario) [][]*harness.Variant {
	all := slices.DeleteFunc(slices.Clone(p.Locks), func(v *harness.Variant) bool { return v.Remote == nil || !s.Applies(result.Describe(v)) })
	size := len(all)
	if s.Alone {
		size = 1
	}
	return slices.Collect(slices.Chunk(all, max(1, size)))
}

type batch struct {
	plan     *Plan
	scenario *Scenario
	stage    *Stage
	keep     func(*result.FaultResult) error
	begin    func(Progress)
	pending  []*result.FaultResult // in the order of the locks
	since    time.Time
	until    time.Time      // no second try starts after it; zero is never
	saved    map[string]int // histories, by lock
	count    map[string]int // tries that count, or could not be made, by lock
}

func (b *batch) run(ctx context.Context, locks []*harness.Variant) error {
	tries := b.plan.tries(b.scenario)
	done := make(map[string]int)
	b.count = make(map[string]int)
	var able []*harness.Variant
	for _, v := range locks {
		if b.plan.Done != nil {
			b.count[v.Name], done[v.Name] = b.plan.Done(b.scenario.Name, v.Name)
		}
		switch {
		case v.Unavailable == "":
			able = append(able, v)
		case done[v.Name] == 0:
			r := b.scenario.result(v)
			r.Skipped = v.Unavailable
			if err := b.keep(r); err != nil {
				return err
			}
		}
	}
	lost := make(map[string]int) // consecutive tries that could not be made
	b.since = time.Now()
	for n := range tries + spareTries(tries) {
		if n > 0 && !b.until.IsZero() && time.Now().After(b.until) {
			break
		}
		at := slices.DeleteFunc(slices.Clone(able), func(v *harness.Variant) bool {
			return n < done[v.Name] || b.count[v.Name] >= tries || lost[v.Name] >= mostFailures
		})
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

const mostFailures = 3

// spareTries is the limit of extra tries for tries that do not count.
func spareTries(tries int) int { return 3 + tries/4 }

// try makes the fault once. Its error ends the run.
func (b *batch) try(ctx context.Context, locks []*harness.Variant, n int, lost map[string]int) error {
	t := b.newTry(locks, n)
	unwatch := t.watch()
	defer unwatch()
	began := time.Now()
	tctx, end := t.limit(ctx, b.scenario.Deadline)
	err := steps(func() { b.scenario.Try(tctx, t) })
	over := cmp.Or(t.over, now())
	if tctx.Err() != nil && ctx.Err() == nil {
		for _, s := range t.Subjects {
			s.stopAt(b.scenario.Deadline, err)
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
		r := b.judgeTry(t, s, over)
		r.Elapsed = time.Since(began)
		b.count[r.Lock.Name] += r.Tries + r.Failed
		lost[r.Lock.Name] = (lost[r.Lock.Name] + 1) * r.Failed
		if errors.Is(s.failed, harness.ErrUnavailable) { // and will not be
			lost[r.Lock.Name] = mostFailures
		}
		b.pending = result.AddFault(b.pending, r)
	}
	return nil
}

func (b *batch) newTry(locks []*harness.Variant, n int) *Try {
	h := fnv.New64a()
	fmt.Fprintf(h, "%d %s %d", b.plan.Seed, b.scenario.Name, n)
	seed := h.Sum64()
	t := &Try{Stage: b.stage, Number: n, Seed: seed, Rand: rand.New(rand.NewPCG(seed, uint64(n))), scenario: b.scenario}
	for _, v := range locks {
		key := fmt.Sprintf("chaos-%s-%s-%s-%d", strconv.FormatInt(int64(os.Getpid()), 36), b.scenario.Name, v.Name, n)
		h := newRecord(min(mostEvents/len(locks), mostOfOne))
		own := fnv.New64a()
		own.Write([]byte(v.Name))
		t.Subjects = append(t.Subjects, &Subject{Variant: v, Key: key, Rand: rand.New(rand.NewPCG(seed, own.Sum64())), history: h, anomalies: make(map[oracle.Anomaly]bool)})
	}
	return t
}

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
