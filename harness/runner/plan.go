package runner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"locklab/harness"
)

// A Case is one lock under one workload.
type Case struct {
	Lock     *harness.Variant
	Workload harness.Workload
}

// Name returns the case's benchmark name, such as
// "lock=mcs/workers=8/hold=100ns".
func (c Case) Name() string { return "lock=" + c.Lock.Name + "/" + c.Workload.Name() }

// A Plan is what a run will measure: every case once a round, each time in a
// fresh process, in an order shuffled anew in every round.
type Plan struct {
	Cases     []Case
	Rounds    int
	Seed      uint64                      // of the order and of the workers' random spans
	RunID     string                      // names this run's locks on the servers
	Endpoints map[string]harness.Endpoint // by Endpoint.Kind, for the remote locks among Cases

	// Patience is how much longer than its estimate a measuring process may
	// take before it counts as hung; 0 is one minute, which covers a loaded
	// machine and workers that take their time.
	Patience time.Duration

	exe string // the program that measures; "" is this one
}

// Validate reports the first mistake in p as an error that wraps
// harness.ErrUsage.
func (p *Plan) Validate() error {
	if len(p.Cases) == 0 {
		return fmt.Errorf("%w: no case to measure: the locks and workers chosen leave none", harness.ErrUsage)
	}
	if p.Rounds < 1 {
		return fmt.Errorf("%w: rounds is %d: want 1 or more", harness.ErrUsage, p.Rounds)
	}
	seen := make(map[string]bool)
	for _, c := range p.Cases {
		if err := c.Workload.Validate(); err != nil {
			return err
		}
		if err := fits(c.Lock, c.Workload); err != nil {
			return err
		}
		if kind := c.Lock.Traits.Needs; kind != "" {
			if _, ok := p.Endpoints[kind]; !ok {
				return fmt.Errorf("%w: %s needs a %s server", harness.ErrUsage, c.Lock.Name, kind)
			}
		}
		if seen[c.Name()] {
			return fmt.Errorf("%w: %s is planned twice", harness.ErrUsage, c.Name())
		}
		seen[c.Name()] = true
	}
	return nil
}

// Estimate returns about how long p takes.
func (p *Plan) Estimate() (d time.Duration) {
	for _, c := range p.Cases {
		d += c.estimate()
	}
	return d * time.Duration(p.Rounds)
}

// What a fresh process costs beside its windows: start, calibration of work,
// probes, and the writing and reading of the result; for remote locks also the
// sessions. A case with a window of 2 ms takes some 25 ms more than that on a
// virtual machine with two processors, and twice as long where other programs
// take half of them.
const (
	processCost = 40 * time.Millisecond
	clientCost  = 15 * time.Millisecond
)

func (c Case) estimate() time.Duration {
	d := c.Workload.Warmup + c.Workload.Window + processCost
	if c.Lock.Remote != nil {
		d += clientCost * time.Duration(c.Workload.Workers)
	}
	return d
}

// Progress is how far a run has come.
type Progress struct {
	Case        Case
	Round       int // 0 is the first
	Done, Total int // cases, over all rounds
	Left        time.Duration
	Result      *harness.Result // of Case; nil before it is measured
}

// Run measures p. It calls report before each case and again with the result
// after it, and stops at the first error of report or when ctx ends, which it
// returns; what was reported until then is complete.
func (p *Plan) Run(ctx context.Context, report func(Progress) error) error {
	if err := p.Validate(); err != nil {
		return err
	}
	left, known := p.Estimate(), survey()
	done, total := 0, len(p.Cases)*p.Rounds
	for round := range p.Rounds {
		for _, i := range p.order(round) {
			c := p.Cases[i]
			at := Progress{Case: c, Round: round, Done: done, Total: total, Left: left}
			if err := report(at); err != nil {
				return err
			}
			res, err := p.measure(ctx, c, known, round, done)
			if err != nil {
				return errors.Join(ctx.Err(), err)
			}
			done++
			left -= c.estimate()
			at.Done, at.Left, at.Result = done, left, res
			if err := report(at); err != nil {
				return err
			}
		}
	}
	return nil
}

// order returns the order of the cases in a round.
func (p *Plan) order(round int) []int {
	return rand.New(rand.NewPCG(p.Seed, uint64(round))).Perm(len(p.Cases))
}

// measure runs one case in a fresh process.
func (p *Plan) measure(ctx context.Context, c Case, known surveyed, round, serial int) (*harness.Result, error) {
	s := spec{
		Lock: c.Lock.Name, Workload: c.Workload, Round: round, Seed: p.Seed + uint64(serial)<<32,
		Key: fmt.Sprintf("%s-%d", p.RunID, serial), Machine: known, exe: p.exe,
	}
	if kind := c.Lock.Traits.Needs; kind != "" {
		s.setEndpoint(p.Endpoints[kind])
	}
	res, err := spawn(ctx, s, 4*c.estimate()+cmp.Or(p.Patience, time.Minute))
	var hung *hungError
	if errors.As(err, &hung) {
		// A lock that hangs its process is a finding, not the end of the run.
		return &harness.Result{Lock: c.Lock.Describe(), Workload: c.Workload, Round: round,
			Started: time.Now(), Violations: []harness.Violation{hung.violation()}}, nil
	}
	return res, err
}

// Needs returns the kinds of server that the plan's locks need, each once.
func (p *Plan) Needs() (kinds []string) {
	for _, c := range p.Cases {
		if k := c.Lock.Traits.Needs; k != "" && !slices.Contains(kinds, k) {
			kinds = append(kinds, k)
		}
	}
	return kinds
}

// Locks returns the locks of the plan, each once.
func (p *Plan) Locks() (locks []*harness.Variant) {
	for _, c := range p.Cases {
		if !slices.Contains(locks, c.Lock) {
			locks = append(locks, c.Lock)
		}
	}
	return locks
}
