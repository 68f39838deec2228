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

	// Sought says that the rate of Workload is, or is to be, chosen by the knee of the
	// lock: see [Plan.Seek]. As long as it is to be, it is 0.
	Sought bool
}

// Site returns what servers the case needs.
func (c Case) Site() harness.Site { return c.Lock.Traits.Site(c.Workload) }

// Name returns the case's benchmark name, such as
// "lock=mcs/workers=8/hold=100ns".
func (c Case) Name() string {
	name := "lock=" + c.Lock.Name + "/" + c.Workload.Name()
	if c.Unknown() {
		name += "/rate=auto"
	}
	return name
}

// A Plan is what a run will measure: every case once a round, each time in a
// fresh process, in an order shuffled anew in every round.
type Plan struct {
	Cases     []Case
	Rounds    int
	Seed      uint64                            // of the order and of the workers' random spans
	RunID     string                            // names this run's locks on the servers
	Endpoints map[harness.Site]harness.Endpoint // for the remote locks among Cases

	// Trips is what the remote locks among Cases do with the network, by their names:
	// it goes into their results. Those that are missing have none.
	Trips map[string]*harness.Trips

	// OpenEvery, if more than 1, leaves open loops out of all rounds but the first of
	// every so many: quantiles are of all rounds together and need fewer of them.
	OpenEvery int

	// Done says which cases and rounds an earlier run has measured, so that this
	// one does not; nil says none.
	Done func(c Case, round int) bool

	// Budget, if not 0, is how long Run may take. After each round Run plans
	// anew how many rounds fit, by what those behind it took: at least Least and
	// at most Most. Rounds is then what it begins with.
	Budget      time.Duration
	Least, Most int

	// Patience is how much longer than its estimate a measuring process may
	// take before it counts as hung; 0 is one minute, which covers a loaded
	// machine and workers that take their time.
	Patience time.Duration

	// Together, if not nil, are the other processes that measure this plan: the cases have
	// ranks, and this process has its part of each of their workers, clients and rates. A
	// result is that of the part.
	Together Together

	// cost is what a process costs, as a multiple of what its constants say, by
	// the servers that keep its lock: see Probe.
	cost map[harness.Site]float64
	exe  string // the program that measures; "" is this one
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
	if err := p.checkBudget(); err != nil {
		return err
	}
	seen := make(map[string]bool)
	for _, c := range p.Cases {
		w := c.StandIn().Workload
		if err := w.Validate(); err != nil {
			return err
		}
		if err := fits(c.Lock, w); err != nil {
			return err
		}
		if p.Together != nil && w.Ranks < 2 {
			return fmt.Errorf("%w: %s is not shared by ranks", harness.ErrUsage, c.Name())
		}
		if site := c.Site(); site.Kind != "" {
			if _, ok := p.Endpoints[site]; !ok {
				return fmt.Errorf("%w: %s needs a %s server", harness.ErrUsage, c.Name(), site.Kind)
			}
		}
		if seen[c.Name()] {
			return fmt.Errorf("%w: %s is planned twice", harness.ErrUsage, c.Name())
		}
		seen[c.Name()] = true
	}
	return nil
}

// ready is Validate of a plan that is to be measured.
func (p *Plan) ready() error {
	if p.Unknown() {
		return fmt.Errorf("%w: the rates of some cases are to be found yet", harness.ErrUsage)
	}
	return p.Validate()
}

// Progress is how far a run has come.
type Progress struct {
	Case        Case
	Round       int // 0 is the first
	Rounds      int // planned, as of now
	Done, Total int // cases, over all rounds, with those that an earlier run has measured
	Left        time.Duration
	Result      *harness.Result // of Case; nil before it is measured, and if it was lost
	Lost        error           // why the processes that measured Case ended without a result
}

// maxLost is after how many cases in a row that gave no result, though each was
// tried twice, a run ends: then it is not the cases.
const maxLost = 5

// ErrGaveUp ends a run in which five cases in a row gave no result. All that it
// measured, and each of these losses, was reported before.
var ErrGaveUp = errors.New("runner: gave up")

// Run measures p. It calls report before each case and again with the result
// after it, and stops at the first error of report or when ctx ends, which it
// returns; what was reported until then is complete. A case whose process is
// killed from outside is tried once more, which its result says, and then
// reported as lost; one whose process cannot measure is lost; too many lost ones
// in a row are ErrGaveUp. A lock that ends its process has broken a promise,
// which is its result.
func (p *Plan) Run(ctx context.Context, report func(Progress) error) error {
	if err := p.ready(); err != nil {
		return err
	}
	r := p.progress(time.Now())
	known, lost := calibrate(), 0
	for round := 0; round < r.rounds; round++ {
		units := p.units()
		for k, i := range p.order(round, len(units)) {
			u := slices.DeleteFunc(slices.Clone(units[i]), func(c Case) bool { return !p.due(c, round) || p.has(c, round) })
			if len(u) == 0 {
				continue
			}
			at := Progress{Case: u[0], Round: round, Rounds: r.rounds, Done: r.done, Total: r.total, Left: r.left(time.Now())}
			if err := report(at); err != nil {
				return err
			}
			err := p.measureUnit(ctx, u, known, round, round*len(units)+k, func(c Case, res *harness.Result, err error) error {
				at.Case = c
				if res != nil {
					res.Trips = p.Trips[c.Lock.Name]
				}
				if at.Lost = lostBy(err); err != nil && at.Lost == nil {
					return errors.Join(ctx.Err(), err)
				}
				if lost++; at.Lost == nil {
					lost = 0
				}
				r.add(c)
				at.Done, at.Left, at.Result = r.done, r.left(time.Now()), res
				if err := report(at); err != nil {
					return err
				}
				if lost == maxLost {
					return fmt.Errorf("%w: %d cases in a row gave no result, the last: %w", ErrGaveUp, lost, at.Lost)
				}
				return nil
			})
			if err != nil {
				return err
			}
		}
		r.replan(round+1, time.Now())
	}
	return nil
}

// RoundsOf returns in how many of rounds rounds p measures c.
func (p *Plan) RoundsOf(c Case, rounds int) int { return c.Workload.RoundsOf(rounds, p.OpenEvery) }

// Total returns how many measurements p is, over all its rounds.
func (p *Plan) Total() int { return p.total(p.Rounds) }

func (p *Plan) total(rounds int) (n int) {
	for _, c := range p.Cases {
		n += p.RoundsOf(c, rounds)
	}
	return n
}

// due reports whether p measures c in round.
func (p *Plan) due(c Case, round int) bool { return p.RoundsOf(c, round+1) > p.RoundsOf(c, round) }

// has reports whether an earlier run has measured c in round.
func (p *Plan) has(c Case, round int) bool { return p.Done != nil && p.Done(c, round) }

// measureTwice is measure, once more if the process was killed from outside.
func (p *Plan) measureTwice(ctx context.Context, c Case, known calibration, round, serial int) (*harness.Result, error) {
	res, err := p.measure(ctx, c, known, round, serial)
	var first *lostError
	if !errors.As(err, &first) || !first.again || ctx.Err() != nil || p.Together != nil {
		return res, err
	}
	res, err = p.measure(ctx, c, known, round, serial)
	if res != nil {
		res.Retries = append(res.Retries, first.Error())
	} else if why := lostBy(err); why != nil {
		err = &lostError{err: fmt.Errorf("%w (the second try; the first: %v)", why, first)}
	}
	return res, err
}

// order returns the order of n units in a round.
func (p *Plan) order(round, n int) []int {
	return rand.New(rand.NewPCG(p.Seed, uint64(round))).Perm(n)
}

// measure runs one case in a fresh process.
func (p *Plan) measure(ctx context.Context, c Case, known calibration, round, serial int) (*harness.Result, error) {
	s := spec{
		Lock: c.Lock.Name, Workload: c.Workload.Part(0), Round: round, Seed: p.Seed + uint64(serial)<<32,
		Key: fmt.Sprintf("%s-%d", p.RunID, serial), Machine: known, exe: p.exe,
	}
	if p.Together != nil {
		rank := p.Together.Rank()
		s.Workload, s.Meets = c.Workload.Part(rank), true
		s.First, _ = c.Workload.Share(rank)
		s.Seed += uint64(rank) << 16
		s.relay = &relay{together: p.Together, serial: serial}
	}
	s.Access = p.access(c)
	res, err := spawn(ctx, s, 4*p.estimate(c)+cmp.Or(p.Patience, time.Minute))
	var fault lockError
	if errors.As(err, &fault) {
		// A lock that hangs or ends its process is a finding, not the end of the run.
		res, err = &harness.Result{Lock: c.Lock.Describe(), Workload: c.Workload, Round: round,
			Started: time.Now(), Violations: []harness.Violation{fault.violation()}}, nil
	}
	if res != nil && p.Together != nil {
		p.part(ctx, res, c.Workload)
	}
	return res, err
}

// access returns the access to the servers of c.
func (p *Plan) access(c Case) Access {
	if site := c.Site(); site.Kind != "" {
		return NewAccess(p.Endpoints[site])
	}
	return Access{}
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

// Sites returns what servers the plan's cases need, each once.
func (p *Plan) Sites() (sites []harness.Site) {
	for _, c := range p.Cases {
		if s := c.Site(); s.Kind != "" && !slices.Contains(sites, s) {
			sites = append(sites, s)
		}
	}
	return sites
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
