package reports

import (
	"fmt"
	"slices"
	"strings"

	"gonum.org/v1/plot/vg/draw"

	"locklab/harness"
	"locklab/harness/stat"
	"locklab/internal/numfmt"
)

// RankingLocal and RankingRemote rank the locks in the situation that the verdict
// turns on: the evidence for one line of its table at a glance.
var (
	RankingLocal = &Chart{
		Name:   "ranking",
		Title:  "How do the locks rank where most workers contend?",
		Doc:    rankingDoc,
		judged: true,
		draw:   drawRanking,
	}
	RankingRemote = &Chart{
		Name:   "ranking-distributed",
		Title:  "How do the distributed locks rank where most workers contend?",
		Doc:    rankingDoc,
		Remote: true,
		judged: true,
		draw:   drawRanking,
	}
)

const rankingDoc = "Order: median of the rounds (distributed: of hand-overs per second), with the most workers at which three quarters as many locks were measured as with any other number. " +
	"Mark: that median; bar: its 95 % order-statistic interval, or the range if there are fewer than six rounds; a point at its end: it goes on. " +
	"Star: the lock that the verdict chose; box: the standard library's mutex; triangle: the fastest peer, or without peers the fastest kept for reference. Hue: family; bold: a lock to use. " +
	"Field: the practical margin around the leader of those to use. The verdict goes by ratios within the rounds: a mark beside the field may tie, and one in it may not. " +
	"p99 wait: ≤ below what the clock tells; – too few samples."

func drawRanking(g *group) picture {
	r := newRanking(g)
	title := fmt.Sprintf("How do the %s rank with %s?", map[bool]string{false: "locks", true: "distributed locks"}[g.Remote], r.setting())
	if len(r.rows) == 0 {
		pic := nothing("With %s, no lock has a rate to rank it by.", r.setting())
		pic.title = title
		return pic
	}
	return picture{
		title:   title,
		answer:  r.answer(),
		height:  r.height(),
		numbers: r.table(),
		data:    r.data(),
		body: func(c draw.Canvas) error {
			r.draw(c)
			return nil
		},
	}
}

// answer says what the verdict says of the situation, and how the chosen lock
// compares with those that are marked.
func (r *ranking) answer() string {
	v := r.verdict
	if v.Use == "" {
		text := fmt.Sprintf("With %s there is no verdict: %s", r.setting(), strings.TrimPrefix(firstClause(v.Why), "no verdict: "))
		if top := r.top(); top != nil {
			text += fmt.Sprintf("; the highest median is that of %s, %s", top.s.Lock.Name, r.Rate(top.rate.Median))
		}
		return text + "."
	}
	text := fmt.Sprintf("With %s the verdict is %s, %s (%s)", r.setting(), v.Use, v.Rate, r.grade())
	if v.Caveat != "" {
		text = fmt.Sprintf("With %s the verdict recommends nothing: %s; %s made %s", r.setting(), v.Caveat, v.Use, v.Rate)
	}
	var others []string
	for _, x := range r.rows {
		if x == r.peer || x.s.Lock.Name == standardMutex {
			if x.s.Lock.Name != v.Use {
				others = append(others, r.against(x))
			}
		}
	}
	if others != nil {
		text += ": " + strings.Join(others, ", and ")
	}
	return text + r.first() + "."
}

// grade says how sure the verdict is, and with what the chosen lock ties.
func (r *ranking) grade() string {
	v := r.verdict
	text := v.Grade
	if n := len(v.Ties()); n > 0 {
		text = "a tie with " + numfmt.List(v.Ties(), 4)
	}
	if v.Within != "" {
		text += "; considered: " + v.Within + map[bool]string{true: ", those that survive the most", false: ", no spin locks"}[v.Remote()]
	}
	return text
}

// against says how fast the chosen lock is beside x.
func (r *ranking) against(x *ranked) string {
	name := x.s.Lock.Name
	if x == r.peer {
		name += map[bool]string{true: ", the best peer", false: ", the best kept for reference"}[x.s.Lock.Family == harness.Peer]
	}
	ratio := r.Compare(r.verdict.Use, x.s.Lock.Name)
	between := fmt.Sprintf("%s to %s times", numfmt.Number(ratio.Lo), numfmt.Number(ratio.Hi))
	switch {
	case slices.Contains(r.verdict.Ties(), x.s.Lock.Name):
		return "it ties with " + name
	case !ratio.Enough():
		return "the rounds are too few to compare it with " + name
	case apartFrom(ratio):
		return fmt.Sprintf("it is %s as fast as %s", between, name)
	}
	return fmt.Sprintf("it is not told apart from %s (%s as fast)", name, between)
}

// apartFrom reports whether one of the two is faster.
func apartFrom(r stat.Ratio) bool { return r.Greater() || r.Less() }

// top returns the lock with the highest median of those that are not unsound, or nil.
func (r *ranking) top() *ranked {
	for _, x := range r.rows {
		if !unsound(x.s.Lock.Status) {
			return x
		}
	}
	return nil
}

// first says why the lock with the highest median is not the one of the verdict.
func (r *ranking) first() string {
	top := r.top()
	if top == nil || top.s.Lock.Name == r.verdict.Use || slices.Contains(r.verdict.Ties(), top.s.Lock.Name) {
		return ""
	}
	why := ""
	switch l := top.s.Lock; {
	case l.Traits.Permits > 1:
		why = fmt.Sprintf("lets in %d at once", l.Traits.Permits)
	case l.Status == harness.Reference && top == r.peer:
		return "" // which the answer has compared
	case l.Status == harness.Reference:
		why = "is kept for reference"
	case l.Family == harness.Spin:
		why = "is a spin lock"
	case r.verdict.Within != "" && r.verdict.Remote():
		why = "was not seen to survive as much"
	default:
		return ""
	}
	return fmt.Sprintf("; the highest median is that of %s, which %s", top.s.Lock.Name, why)
}

// firstClause returns s up to the end of its first sentence.
func firstClause(s string) string {
	first, _, _ := strings.Cut(s, ". ")
	return strings.TrimSuffix(first, ".")
}
