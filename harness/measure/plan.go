package measure

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"locklab/harness"
	"locklab/harness/oracle"
	"locklab/harness/result"
)

// A Case is one lock under one workload.
type Case struct {
	Lock     *harness.Variant
	Workload harness.Workload

	// Sought means that the search for the saturation point of the lock chooses the rate of
	// Workload: see [Plan.Seek]. Until then the rate is 0.
	Sought bool
}

// Site returns the servers that the case needs.
func (c Case) Site() Site { return SiteOf(c.Lock.Traits, c.Workload) }

// Name returns the case's benchmark name, such as "lock=mcs/workers=8/hold=100ns".
func (c Case) Name() string {
	name := "lock=" + c.Lock.Name + "/" + c.Workload.Name()
	if c.Unknown() {
		name += "/rate=auto"
	}
	return name
}

// A Plan is the cases of a run: each once per round, in a fresh process, in shuffled order.
type Plan struct {
	Cases     []Case
	Rounds    int
	Seed      uint64                    // of the order and of the workers' random spans
	RunID     string                    // names this run's locks on the servers
	Endpoints map[Site]harness.Endpoint // for the remote locks among Cases

	// Trips are the counted trips of the remote locks, by name, for the results.
	Trips map[string]*result.Trips

	// Every.Open is the number of rounds from one with open loops to the next. Every.Window is the
	// same for the windows of locks that share a process; the others have blocks alone. 0 is 1.
	Every struct{ Open, Window int }

	// Done reports whether a case was measured in a round before, to skip; nil skips nothing.
	Done func(c Case, round int) bool

	// Budget, if not 0, limits the duration of Run. After each round Run adjusts the number
	// of rounds to the rate so far, within Least and Most. It begins with Rounds, and sets them
	// to the final number.
	Budget      time.Duration
	Least, Most int

	// Patience is the time after its estimate when a process counts as hung; 0 is one minute.
	Patience time.Duration

	// Together, if not nil, connects the other processes of this plan: this one runs its share
	// of the workers, clients and rates, which its results cover.
	Together *Ranks

	// Race gives the blocks of far slower locks to the others, and spare time to noisy processes.
	Race Race

	exe string // the program that measures; "" is this one
}

// Validate reports the first mistake in p as an error that wraps harness.ErrUsage.
func (p *Plan) Validate() error {
	if len(p.Cases) == 0 {
		return refuse("no case to measure with these locks and workers")
	}
	if p.Rounds < 1 {
		return refuse("rounds is %d: want 1 or more", p.Rounds)
	}
	if p.Budget != 0 && (p.Least < 1 || p.Most < p.Least || p.Done != nil) {
		return fmt.Errorf("measure: a plan with a budget needs bounds for its rounds, and nothing done before: %d to %d", p.Least, p.Most)
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
			return refuse("%s is not shared by ranks", c.Name())
		}
		if site := c.Site(); site.Kind != "" {
			if _, ok := p.Endpoints[site]; !ok {
				return refuse("%s needs a %s server", c.Name(), site.Kind)
			}
		}
		if seen[c.Name()] {
			return refuse("%s is planned twice", c.Name())
		}
		seen[c.Name()] = true
	}
	return nil
}

// Progress is the progress of a run.
type Progress struct {
	Case        Case
	Build       int // that measures Case, of the builds given to Run
	Round       int // 0 is the first
	Rounds      int // current plan
	Done, Total int // cases, over all rounds, including those of an earlier run
	Left        time.Duration
	Result      *result.Result // of Case; nil before it is measured, and if it was lost
	Lost        error          // the reason why the processes that measured Case gave no result
}

// maxLost consecutive cases without a result end a run: the cases are not the cause.
const maxLost = 5

// ErrGaveUp ends a run after five consecutive losses. Everything has been reported.
var ErrGaveUp = errors.New("measure: gave up")

// Run measures p. It calls report before each case and with the result after it. It stops at
// the first error of report, or when ctx ends; everything reported is complete.
//
// Several builds measure a case one right after the other, in a random order, so that a
// disturbance affects all. Without builds this program measures.
//
// A case whose process is killed from outside is tried once more, and then lost, like one
// whose process cannot measure. Too many consecutive losses are ErrGaveUp. A lock that ends
// its process has violated a promise, which is its result.
func (p *Plan) Run(ctx context.Context, report func(Progress) error, builds ...Build) error {
	if p.Unknown() {
		return refuse("the rates of some cases are not yet known")
	}
	if err := p.Validate(); err != nil {
		return err
	}
	if len(builds) == 0 {
		builds = []Build{{Path: p.exe}}
	}
	by, known := *p, calibrate()
	by.exe, by.Race.seen = builds[0].Path, make(map[string]*racer)
	r := by.progress(time.Now(), builds)
	units, draw := by.units(), rand.New(rand.NewPCG(p.Seed, uint64(p.Rounds)))
	for round := 0; round < r.rounds; round++ {
		for k, i := range p.order(round, len(units)) {
			u := slices.DeleteFunc(slices.Clone(units[i]), func(c Case) bool { return !p.due(c, round) || p.has(c, round) })
			if len(u) == 0 {
				continue
			}
			for _, b := range draw.Perm(len(builds)) {
				at := Progress{Case: u[0], Build: b, Round: round, Rounds: r.rounds, Done: r.done, Total: r.total, Left: r.left(time.Now())}
				if err := report(at); err != nil {
					return err
				}
				by.exe = builds[b].Path
				serial := (round*len(units)+k)*len(builds) + b
				err := by.measureUnit(ctx, u, known, round, serial, func(c Case, res *result.Result, err error) error {
					if at.Lost = lostBy(err); err != nil && at.Lost == nil {
						return errors.Join(ctx.Err(), err)
					}
					if res != nil {
						res.Trips = p.Trips[c.Lock.Name]
					}
					spent := r.add(p.estimate(c, len(units[i]), round), b, at.Lost)
					at.Case, at.Result, at.Done, at.Left = c, res, r.done, r.left(time.Now())
					return cmp.Or(report(at), spent)
				})
				if err != nil {
					return err
				}
			}
		}
		r.replan(round+1, time.Now())
	}
	p.Rounds = r.rounds
	return nil
}

// RoundsOf returns the number of rounds, out of rounds, in which p measures c.
func (p *Plan) RoundsOf(c Case, rounds int) int { return c.Workload.RoundsOf(rounds, p.Every.Open) }

// Total returns the number of measurements of p over all its rounds.
func (p *Plan) Total() int { return p.total(p.Rounds) }

func (p *Plan) total(rounds int) (n int) {
	for _, c := range p.Cases {
		n += p.RoundsOf(c, rounds)
	}
	return n
}

func (p *Plan) due(c Case, round int) bool { return p.RoundsOf(c, round+1) > p.RoundsOf(c, round) }

func (p *Plan) has(c Case, round int) bool { return p.Done != nil && p.Done(c, round) }

func (p *Plan) measureTwice(ctx context.Context, c Case, known calibration, round, serial int) (*result.Result, error) {
	res, err := p.measure(ctx, c, known, round, serial)
	first, lost := errors.AsType[*lostError](err)
	if !lost || !first.again || ctx.Err() != nil || p.Together != nil {
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

func (p *Plan) order(round, n int) []int {
	return rand.New(rand.NewPCG(p.Seed, uint64(round))).Perm(n)
}

func (p *Plan) measure(ctx context.Context, c Case, known calibration, round, serial int) (*result.Result, error) {
	s := spec{
		Lock: c.Lock.Name, Workload: c.Workload.Part(0), Round: round, Seed: p.Seed + uint64(serial)<<32,
		Key: fmt.Sprintf("%s-%d", p.RunID, serial), Machine: known, exe: p.exe,
	}
	if p.Together != nil {
		rank := p.Together.options.Rank
		s.Workload, s.Meets = c.Workload.Part(rank), true
		s.First, _ = c.Workload.Share(rank)
		s.Seed += uint64(rank) << 16
		s.relay = &relay{together: p.Together, serial: serial}
	}
	s.Access = p.access(c)
	res, err := spawn(ctx, s, 4*p.estimate(c, 1, round)+cmp.Or(p.Patience, time.Minute))
	if fault, ok := errors.AsType[*lockError](err); ok {
		// A lock that hangs or ends its process is a finding, not the end of the run.
		res, err = &result.Result{Lock: result.Describe(c.Lock), Workload: c.Workload, Round: round,
			Started: time.Now(), Violations: []oracle.Violation{fault.violation}}, nil
	}
	if res != nil && p.Together != nil {
		p.part(ctx, res, c.Workload)
	}
	return res, err
}

func (p *Plan) access(c Case) Access {
	if site := c.Site(); site.Kind != "" {
		return NewAccess(p.Endpoints[site])
	}
	return Access{}
}

// Needs returns the kinds of server that the plan's locks need, each once.
func (p *Plan) Needs() []string {
	return eachOnce(p, func(c Case) string { return c.Lock.Traits.Needs })
}

// Sites returns the servers that the plan's cases need, each once.
func (p *Plan) Sites() []Site { return eachOnce(p, Case.Site) }

// Locks returns the locks of the plan, each once.
func (p *Plan) Locks() []*harness.Variant {
	return eachOnce(p, func(c Case) *harness.Variant { return c.Lock })
}

func eachOnce[T comparable](p *Plan, value func(Case) T) (out []T) {
	var none T
	for _, c := range p.Cases {
		if v := value(c); v != none && !slices.Contains(out, v) {
			out = append(out, v)
		}
	}
	return out
}
