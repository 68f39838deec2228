package judge

import (
	"cmp"
	"slices"

	"locklab/harness/result"
	"locklab/internal/stat"
)

// mostlyReads is the percentage of reads from which the default is sync.RWMutex.
const mostlyReads = 50

// WorthPrice is the least ratio to a lock with fewer prices that is worth more prices. A lock is
// not chosen for its fewer prices if its estimate is farBehind the fastest lock.
const (
	WorthPrice = 1.25
	farBehind  = 1.5
)

// A Rule is the reason for a recommendation, or for its absence.
type Rule string

const (
	ByDefault Rule = "default"        // no lock is significantly faster than the default by more than the tolerance
	BySpeed   Rule = "fastest"        // some lock is significantly faster than the default by more than the tolerance, or than the stronger classes
	FewRounds Rule = "too few rounds" // for intervals of 95 % for all comparisons together
	OneLock   Rule = "one lock"       // nothing to compare it with
	NoDefault Rule = "no default"     // the default was not measured
	NoLock    Rule = "no lock"        // no correct lock made progress
	Unmet     Rule = "unmet"          // no lock has the required guarantees
)

// A Decision is the lock to use in a situation.
type Decision struct {
	Situation Situation `json:"situation"`
	Rule      Rule      `json:"rule"`
	Use       string    `json:"use"` // "" if there is no recommendation

	// Default is the lock of the standard library for the situation; "" for distributed
	// locks, and if it was not measured.
	Default string `json:"default"`

	// If the rule is BySpeed, Fastest is significantly faster than the default: Use, or the fastest
	// such lock. Else it is the lock with the greatest median of the ratios to the baseline. Gain
	// is its rate divided by the rate of Over, which is the default, or the recommended lock of a
	// stronger class. Gain is nil without such a lock.
	Fastest string `json:"fastest"`
	Over    string `json:"over"`
	Gain    *Ratio `json:"gain"`

	Ties   []string `json:"ties"`   // locks that are not significantly slower than Use, less Dearer
	Dearer []string `json:"dearer"` // locks with more prices, faster than Use by more than the tolerance; see WorthPrice
	Locks  int      `json:"locks"`  // compared
	Rounds int      `json:"rounds"` // least number in a comparison, or of the only lock
	Needed int      `json:"needed"` // rounds for an interval

	Rate   *Estimate `json:"rate"`   // of Use, per second
	Prices []Price   `json:"prices"` // of Use, or of Fastest by default, compared with Default if there is one

	// Class is the result of Use, a distributed lock, in the failure scenarios.
	Class *result.Class `json:"-"`
}

// An Estimate is a median over rounds, with its interval of 95 %.
type Estimate struct {
	Median float64 `json:"median"`
	Lo     float64 `json:"lo"` // 0 if there are too few rounds
	Hi     float64 `json:"hi"` // likewise
	N      int     `json:"n"`  // rounds
}

// Decisions returns the decisions on the situations that stand for the run: see [MainSituations].
func Decisions(run *result.Run) (out []Decision) {
	for _, s := range MainSituations(Groups(run)) {
		out = append(out, Decide(s)...)
	}
	return out
}

// Decide applies the rule to s. It returns one decision on local locks. For distributed
// locks it returns one for each class of guarantees, the strongest first. It omits classes
// whose fastest lock is not significantly faster than a stronger class.
func Decide(s Situation) []Decision {
	all := s.candidates()
	pool := slices.DeleteFunc(slices.Clone(all), func(c candidate) bool {
		return s.Distributed() && len(Lacking(s.classOf(c), s.group.Run.Require)) > 0
	})
	d := Decision{Situation: s, Locks: len(pool), Needed: stat.MinRounds}
	if len(pool) == 0 {
		if d.Rule = NoLock; len(all) > 0 {
			d.Rule, d.Rounds = Unmet, s.rounds(all, s.reference(all))
		}
		return []Decision{d}
	}
	base := s.reference(pool)
	if i := slices.IndexFunc(pool, func(c candidate) bool { return c.Lock.Name == s.DefaultLock() }); i >= 0 && !s.Distributed() {
		base = pool[i]
		d.Default, d.Over = base.Lock.Name, base.Lock.Name
	}
	fastest := s.order(pool, base)[0]
	if d.Fastest = fastest.Lock.Name; d.Default != "" && fastest.Series != base.Series {
		d.Gain, d.Prices = s.ratio(fastest, base), s.prices(fastest, base)
	}
	switch d.Rounds = s.rounds(pool, base); {
	case len(pool) == 1:
		d.Rule = OneLock
	case d.Default == "" && !s.Distributed():
		d.Rule = NoDefault
	case d.Rounds < d.Needed:
		d.Rule = FewRounds
	case s.Distributed():
		return s.decideClasses(d, pool, base)
	default:
		s.decideLocal(&d, pool, base)
	}
	return []Decision{d}
}

func (s Situation) decideLocal(d *Decision, pool []candidate, base candidate) {
	use := base
	d.Rule = ByDefault
	faster := slices.DeleteFunc(s.order(pool, base), func(x candidate) bool {
		return x.Series == base.Series || !(s.ratio(x, base).Lo > 1+s.tolerance()) // the whole interval must be above
	})
	if len(faster) > 0 {
		fastest := faster[0]
		d.Rule, use = BySpeed, s.cheapest(s.near(fastest, pool, base), base)
		if s.ratio(use, base).Lo > 1+s.tolerance() {
			fastest = use
		}
		d.Fastest, d.Gain, d.Prices = fastest.Lock.Name, s.ratio(fastest, base), s.prices(use, base)
	}
	d.choose(s, use, pool)
}

// A candidate is a correct lock that made progress in a situation.
type candidate struct {
	*Series
	cell *Cell
	rate stat.Summary
}

func (s Situation) candidates() (out []candidate) {
	for _, x := range s.group.At(s.Workers) {
		c := x.Cells[s.Workers]
		if rate := c.Summary(s.Metric()); correct(x.Lock) && rate.N > 0 && rate.Median > 0 {
			out = append(out, candidate{x, c, rate})
		}
	}
	return out
}

func correct(l result.Lock) bool {
	return l.Status.Competes() && l.Traits.Permits <= 1
}

// ratio returns a's rate over base's in common rounds, or nil. The data must not choose base.
func (s Situation) ratio(a, base candidate) *Ratio {
	return s.group.ratios(s.Workers, base.Series, s.group.level())[a.Series]
}

// versus is ratio for the comparisons of a decision. Inside a process the level of one lock with
// all others suffices: then the fastest lock is found slower than another in at most 5 % of runs
// (J. C. Hsu, "Constrained Simultaneous Confidence Intervals for Multiple Comparisons with the
// Best", Annals of Statistics 12(3), 1984). Between processes all pairs hold together.
func (s Situation) versus(a, b candidate) *Ratio {
	if s.Distributed() {
		return s.compare(a, b)
	}
	return s.ratio(a, b)
}

func (s Situation) compare(a, b candidate) *Ratio {
	return s.group.ratios(s.Workers, b.Series, stat.Level(stat.Pairs(len(s.group.At(s.Workers)))))[a.Series]
}

func (s Situation) tolerance() float64 { return s.group.Run.Manifest.ToleranceOrDefault() }

// DefaultLock returns the name of the lock that a Go program uses without a report.
func (s Situation) DefaultLock() string {
	if s.group.Load.Reads >= mostlyReads {
		return DefaultOfReaders
	}
	return DefaultBaseline
}

// near returns fastest, and then the other locks of pool but base that may be chosen in its
// place. They need not be significantly faster than base, but not possibly WorthPrice slower.
// Source: the subset that contains the best, S. S. Gupta, "On Some Multiple Decision (Selection
// and Ranking) Rules", Technometrics 7(2), 1965.
func (s Situation) near(fastest candidate, pool []candidate, base candidate) []candidate {
	others := slices.DeleteFunc(s.order(pool, base), func(x candidate) bool {
		if x.Series == base.Series || x.Series == fastest.Series {
			return true
		}
		lead, gain := s.ratio(fastest, x), s.ratio(x, base)
		return lead == nil || gain == nil || lead.Median > farBehind || gain.Median <= 1+s.tolerance() ||
			gain.Lo < 1/WorthPrice
	})
	return append([]candidate{fastest}, others...)
}

// cheapest returns the first lock of pool with the least burden, compared with base, among those
// that no lock of pool is shown to beat by WorthPrice.
func (s Situation) cheapest(pool []candidate, base candidate) candidate {
	best, fewest := pool[0], burden(s.prices(pool[0], base))
	for _, x := range pool[1:] {
		beaten := slices.ContainsFunc(pool, func(y candidate) bool {
			r := s.versus(y, x)
			return y.Series != x.Series && r != nil && r.Lo > WorthPrice
		})
		if n := burden(s.prices(x, base)); n < fewest && !beaten {
			best, fewest = x, n
		}
	}
	return best
}

func (s Situation) rounds(pool []candidate, base candidate) int {
	least := base.rate.N
	for _, x := range pool {
		switch r := s.ratio(x, base); {
		case x.Series == base.Series:
		case r == nil:
			return 0
		default:
			least = min(least, r.N)
		}
	}
	return least
}

func (d *Decision) choose(s Situation, use candidate, pool []candidate) {
	d.Use, d.Rate = use.Lock.Name, estimate(use.rate)
	for _, x := range pool {
		if x.Series == use.Series || d.Rule == BySpeed && x.Lock.Name == d.Default {
			continue // the default is significantly slower
		}
		switch r := s.versus(x, use); {
		case r == nil || r.Reading == Slower || r.Reading == TooFew:
		case d.Default != "" && r.Lo > 1+s.tolerance():
			d.Dearer = append(d.Dearer, x.Lock.Name)
		default:
			d.Ties = append(d.Ties, x.Lock.Name)
		}
	}
}

func estimate(s stat.Summary) *Estimate {
	e := &Estimate{Median: s.Median, N: s.N}
	if s.Confidence >= stat.Level(1) {
		e.Lo, e.Hi = s.Lo, s.Hi
	}
	return e
}

func (s Situation) order(pool []candidate, base candidate) []candidate {
	ratio := func(c candidate) float64 {
		if r := s.ratio(c, base); c.Series != base.Series && r != nil {
			return r.Median
		}
		return c.rate.Median / base.rate.Median
	}
	pool = slices.Clone(pool)
	slices.SortStableFunc(pool, func(a, b candidate) int { return cmp.Compare(ratio(b), ratio(a)) })
	return pool
}

func (s Situation) reference(pool []candidate) candidate {
	base := s.group.baseline("", s.Workers)
	if i := slices.IndexFunc(pool, func(c candidate) bool { return c.Series == base }); i >= 0 {
		return pool[i]
	}
	return pool[0]
}
