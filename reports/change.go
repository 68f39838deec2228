package reports

import (
	"fmt"
	"slices"
	"strings"

	"locklab/harness"
	"locklab/harness/metric"
	"locklab/harness/resultfile"
	"locklab/harness/stat"
	"locklab/harness/survival"
	"locklab/harness/verdict"
	"locklab/internal/numfmt"
)

const (
	fairerBy  = 5   // points of Jain's index from which a lock is called fairer
	reachable = 1.5 // how many times as fast as the next a lock is, at the most, that another machine may put behind it
	unevenAt  = 90  // Jain's index, percent, below which it is said which lock is fairer
)

// changes lists what would change the answer v of run, the weightiest first: each is
// the same rule, or the same figures, with another requirement.
func changes(run *resultfile.Run, v verdict.Verdict) (out []string) {
	if v.Use == "" {
		return []string{unsettled(run, v)}
	}
	add := func(text string) {
		if text != "" {
			out = append(out, text)
		}
	}
	if v.Remote() {
		add(untested(v))
	}
	add(unmatched(v))
	add(alternative(v, v.Instead))
	add(alternative(v, v.Unfit))
	add(otherData(v))
	if v.Remote() {
		for _, text := range unheld(run, v) {
			add(text)
		}
	}
	add(fairer(v))
	add(aside(v))
	add(runnerUp(v))
	add(more(v))
	return out
}

// unsettled says what a verdict is missing: rounds, or quiet.
func unsettled(run *resultfile.Run, v verdict.Verdict) string {
	cells := v.Cells()
	if len(cells) == 0 {
		return "measuring a lock that may be recommended"
	}
	need, _ := verdict.RoundsFor(func(yield func(harness.Lock, harness.Workload) bool) {
		for _, c := range cells {
			for _, r := range c.Rounds {
				if !yield(r.Lock, r.Workload) {
					return
				}
				break
			}
		}
	}, run.Manifest.Candidates)
	have := 0
	for _, c := range cells {
		have = max(have, len(c.Rounds))
	}
	if have < need {
		return fmt.Sprintf("%s instead of %d (--rounds %d)", numfmt.Plural(need, "round"), have, need)
	}
	return fmt.Sprintf("less noise: a quieter machine, or longer windows (--budget); %s were enough", numfmt.Plural(have, "round"))
}

// otherData says what is chosen with other data behind the lock, where that is not the
// lock of v.
func otherData(v verdict.Verdict) string {
	if other := v.OtherSections(); other != nil {
		return "other data behind the lock: " + strings.Join(other, "; ")
	}
	return ""
}

// unmatched says what must be measured for a recommendation.
func unmatched(v verdict.Verdict) string {
	if v.Caveat == "" {
		return ""
	}
	return "measuring others beside it (--locks default)"
}

// untested says that failures were not tried on the lock of v.
func untested(v verdict.Verdict) string {
	if v.Class != verdict.NotTested {
		return ""
	}
	return "a test of failures (" + verdict.TestCommand + "): a lock that survives more goes first"
}

// alternative says where the faster lock x is the one to use, if there is one.
func alternative(v verdict.Verdict, x *verdict.Choice) string {
	if x == nil {
		return ""
	}
	if r := ratio(v, x.Lock, v.Use); r.N > 0 {
		return fmt.Sprintf("where %s: %s, %s", x.Where, x.Lock, speed(r.Median))
	}
	return fmt.Sprintf("where %s: %s (%s)", x.Where, x.Lock, x.Rate)
}

// needs says in a few words what a reader wants that asks for a guarantee.
var needs = map[harness.Guarantee]string{
	harness.Failover: "one holder, whichever server is lost",
	harness.Fencing:  "tokens that refuse every stale write",
	harness.Ordered:  "service in order of arrival",
	harness.Recovery: "nothing left behind by a crash",
}

// unheld says of each guarantee that the lock of v was not seen to have which lock was,
// the fastest of v first.
func unheld(run *resultfile.Run, v verdict.Verdict) (out []string) {
	mine := survival.ClassOf(run.Faults, v.Use)
	if mine.Tries == 0 {
		return nil
	}
	var missing, untried []string
	ranked := v.Ranked()
	for _, g := range harness.Guarantees {
		if mine.Guarantees[g].State == survival.Held {
			continue
		}
		i := slices.IndexFunc(ranked, func(lock string) bool {
			return survival.ClassOf(run.Faults, lock).Guarantees[g].State == survival.Held
		})
		switch {
		case i < 0 && mine.Guarantees[g].State == survival.Untested:
			untried = append(untried, needs[g])
			continue
		case i < 0:
			missing = append(missing, needs[g])
			continue
		}
		lock := ranked[i]
		text := fmt.Sprintf("if you need %s: %s", needs[g], referred(v, lock))
		if r := ratio(v, lock, v.Use); r.N > 0 {
			text += ", " + speed(r.Median)
		}
		out = append(out, text)
	}
	if missing != nil {
		out = append(out, "if you need "+numfmt.List(missing, len(missing))+": no lock measured here")
	}
	if untried != nil {
		out = append(out, "not tested here: "+numfmt.List(untried, len(untried)))
	}
	return out
}

// speed says how fast a lock is with r times the rate of the one to use.
func speed(r float64) string {
	switch times := numfmt.Times(r); {
	case r < 1:
		return "at " + numfmt.Percent(100*r) + " of its rate"
	case times == numfmt.Times(1):
		return "as fast"
	default:
		return times + " as fast"
	}
}

// reference reports whether a lock of v is kept for reference.
func reference(v verdict.Verdict, lock string) bool {
	if c := v.Cells()[lock]; c != nil {
		for _, r := range c.Rounds {
			return r.Lock.Status == harness.Reference
		}
	}
	return false
}

// referred returns the name of a lock of v, with its status if it is kept for reference.
func referred(v verdict.Verdict, lock string) string {
	if reference(v, lock) {
		return lock + " (kept for reference)"
	}
	return lock
}

// ratio returns the rate of lock a over that of lock b in the rounds of v.
func ratio(v verdict.Verdict, a, b string) stat.Ratio {
	cells := v.Cells()
	if cells[a] == nil || cells[b] == nil {
		return stat.Ratio{}
	}
	xs, ys := verdict.Pairs(cells[a], cells[b], v.Metric())
	return stat.Paired(xs, ys, stat.Level(1))
}

// fairer names the fastest lock that serves its workers more evenly, where the lock of v
// does not serve them alike.
func fairer(v verdict.Verdict) string {
	cells := v.Cells()
	mine := cells[v.Use].Summary(metric.Jain)
	if v.Workers() < 2 || mine.N == 0 || mine.Median >= unevenAt {
		return ""
	}
	fair := func(lock string) bool {
		other := cells[lock].Summary(metric.Jain)
		return lock != v.Use && other.N > 0 && other.Median >= max(unevenAt, mine.Median+fairerBy)
	}
	// A spin lock is no answer where its holder may have lost its processor.
	even := func(lock string) bool { return fair(lock) && v.Fits(lock) }
	ranked := v.Ranked()
	i := slices.IndexFunc(ranked, func(lock string) bool { return even(lock) && v.Considers(lock) })
	if i < 0 {
		i = slices.IndexFunc(ranked, func(lock string) bool { return even(lock) && !reference(v, lock) })
	}
	if i < 0 {
		i = slices.IndexFunc(ranked, even)
	}
	if i < 0 {
		return ""
	}
	lock := ranked[i]
	text := fmt.Sprintf("if workers must be served alike: %s (Jain %s, not %s)", referred(v, lock), numfmt.Percent(cells[lock].Summary(metric.Jain).Median), numfmt.Percent(mine.Median))
	if r := ratio(v, lock, v.Use); r.N > 0 {
		text += ", " + speed(r.Median)
	}
	return text
}

// aside names the lock kept for reference that is faster than the lock of v, or says that
// this had no other to be compared with.
func aside(v verdict.Verdict) string {
	lock, times, told, of := v.Aside()
	switch {
	case lock != "":
		return fmt.Sprintf("one kept for reference (--candidates all): %s, %s", lock, speed(times))
	case v.Grade != verdict.Only:
		return ""
	case told > 0:
		return fmt.Sprintf("another recommended lock: of %s like it, kept for reference, none was shown to be faster", numfmt.Plural(told, "lock"))
	case of > 0:
		return fmt.Sprintf("another recommended lock, or more rounds: these are too few to tell whether one of %s like it, kept for reference, is faster", numfmt.Plural(of, "lock"))
	}
	if v.Caveat != "" {
		return "" // which says so
	}
	return "another recommended lock (--locks): no other of its kind was measured"
}

// runnerUp says by how much the next lock would have to gain on that of v.
func runnerUp(v verdict.Verdict) string {
	for _, lock := range v.Ranked() {
		if lock == v.Use || slices.Contains(v.Ties(), lock) || !v.Considers(lock) {
			continue
		}
		switch lead := ratio(v, v.Use, lock); {
		case lead.N == 0 || lead.Median <= 1:
		case lead.Median <= reachable:
			return fmt.Sprintf("%s, if it gained %s", lock, numfmt.Percent(100*(lead.Median-1)))
		default:
			return fmt.Sprintf("speed hardly: the next, %s, has %s of its rate", lock, numfmt.Percent(100/lead.Median))
		}
	}
	return ""
}

// more says what more rounds would tell.
func more(v verdict.Verdict) string {
	if len(v.Untold) == 0 {
		return ""
	}
	n := 0
	for _, c := range v.Cells() {
		n = max(n, len(c.Rounds))
	}
	return fmt.Sprintf("more rounds, which may tell it from %s: %d do not", numfmt.List(v.Untold, 4), n)
}
