package hardware

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"locklab/harness/result"
	"locklab/internal/machine"
	"locklab/internal/stat"
)

var arbiter = &Experiment{
	Name:     "arbiter",
	Question: "Can a circuit of switches pick one of several contenders, does it always, and is it fair?",
	Method: "A simulation, round by round, of contenders that always want the grant: one that pulls opens the paths of all others, " +
		"so a path is closed only for one that pulls alone. Three ways to pull are played with 2 to 64 contenders, " +
		"and next to them two arbiters that see all requests.",
	Simulation: true,
	Source:     "Abramson, The ALOHA System, AFIPS 1970, for the probability; IEEE 802.3 for the backoff",
	Available:  always,
	run:        runArbiter,
}

const none = -1

// grant is the mutual-exclusion circuit: a path is closed if its contender alone pulls. It
// returns a contender with a closed path, and the number of closed paths.
func grant(pulls []bool) (winner, closed int) {
	pulled := 0
	for _, p := range pulls {
		if p {
			pulled++
		}
	}
	winner = none
	for i, p := range pulls {
		if othersPulled := pulled - 1; p && othersPulled == 0 {
			winner = i
			closed++
		}
	}
	return winner, closed
}

// A policy decides which contenders pull, or which one is granted. start returns a
// function that plays one round for n contenders.
type policy struct {
	name    string
	start   func(n int, random *machine.Random) func() (winner, closed int)
	predict func(n int) float64 // rounds for a grant in the long run; nil without a known formula
}

var policies = []policy{
	pulling("all pull in every round", func(int) float64 { return 1 }),
	pulling("each pulls with probability 1/N", func(n int) float64 { return 1 / float64(n) }),
	{"binary exponential backoff", backOff, nil},
	{"fixed priority", fixedPriority, func(int) float64 { return 1 }},
	{"round robin", roundRobin, func(int) float64 { return 1 }},
}

// expectedRounds returns the mean rounds until exactly one of n contenders pulls, each with
// probability p: 1/(n p (1-p)^(n-1)), perhaps infinite.
func expectedRounds(n int, p float64) float64 {
	return 1 / (float64(n) * p * math.Pow(1-p, float64(n-1)))
}

func pulling(name string, probability func(n int) float64) policy {
	return policy{name,
		func(n int, random *machine.Random) func() (int, int) {
			return pullWithProbability(n, probability(n), random)
		},
		func(n int) float64 { return expectedRounds(n, probability(n)) }}
}

func pullWithProbability(n int, p float64, random *machine.Random) func() (int, int) {
	pulls := make([]bool, n)
	return func() (int, int) {
		for i := range pulls {
			pulls[i] = float64(random.Uint64()>>11)/(1<<53) < p
		}
		return grant(pulls)
	}
}

// backOff lets a contender that was not alone stay away for a random number of rounds
// below a bound. The bound doubles each time, up to 1024, and restarts at 1 after a win.
func backOff(n int, random *machine.Random) func() (int, int) {
	const most = 1024
	type contender struct{ away, bound uint64 }
	contenders := make([]contender, n)
	for i := range contenders {
		contenders[i].bound = 1
	}
	pulls := make([]bool, n)
	return func() (int, int) {
		for i := range pulls {
			pulls[i] = contenders[i].away == 0
		}
		winner, closed := grant(pulls)
		for i := range contenders {
			c := &contenders[i]
			switch {
			case !pulls[i]:
				c.away--
			case i == winner:
				c.bound = 1
			default:
				c.bound = min(2*c.bound, most)
				c.away = random.Uint64() % c.bound
			}
		}
		return winner, closed
	}
}

func fixedPriority(int, *machine.Random) func() (int, int) {
	return func() (int, int) { return 0, 1 }
}

func roundRobin(n int, _ *machine.Random) func() (int, int) {
	last := n - 1
	return func() (int, int) {
		last = (last + 1) % n
		return last, 1
	}
}

type game struct {
	rounds, grants, double int // double counts rounds with two closed paths
	wins                   []int
}

func play(rounds, n int, round func() (winner, closed int)) game {
	g := game{rounds: rounds, wins: make([]int, n)}
	for range rounds {
		switch winner, closed := round(); {
		case closed > 1:
			g.double++
		case closed == 1:
			g.grants++
			g.wins[winner]++
		}
	}
	return g
}

func (g game) roundsPerGrant() float64 { return float64(g.rounds) / float64(g.grants) }

type arbiterCell struct {
	policy
	n            int
	seed         uint64
	rounds, jain []float64
	total        game // of all repeats; wins are not kept
}

func (c *arbiterCell) measure(context.Context, time.Duration) error {
	const rounds = 20_000
	g := play(rounds, c.n, c.start(c.n, machine.NewRandom(c.seed^uint64(len(c.rounds))<<16)))
	c.rounds = append(c.rounds, g.roundsPerGrant())
	c.jain = append(c.jain, stat.Jain(g.wins))
	c.total.rounds += g.rounds
	c.total.grants += g.grants
	c.total.double += g.double
	return nil
}

const arbiterSize = 8

var (
	arbiterSizes  = []int{2, 4, 8, 16, 32, 64}
	probabilities = []float64{1. / 64, 1. / 32, 1. / 16, 1. / 8, 1. / 4, 1. / 2, 1}
)

func arbiterCells() (bySize [][]*arbiterCell, byProbability []*arbiterCell) {
	for _, n := range arbiterSizes {
		bySize = append(bySize, result.Each(policies, func(p policy) *arbiterCell { return &arbiterCell{policy: p, n: n} }))
	}
	for _, p := range probabilities {
		byProbability = append(byProbability, &arbiterCell{n: arbiterSize, policy: pulling(fraction(p), func(int) float64 { return p })})
	}
	return bySize, byProbability
}

func fraction(p float64) string {
	if p == 1 {
		return "1"
	}
	return fmt.Sprintf("1/%.0f", 1/p)
}

func runArbiter(ctx context.Context, o Options) (*result.Finding, error) {
	bySize, byProbability := arbiterCells()
	var cells []cell
	for i, group := range append([][]*arbiterCell{byProbability}, bySize...) {
		for j, c := range group {
			c.seed = o.Seed ^ uint64(i)<<8 ^ uint64(j)
			cells = append(cells, c)
		}
	}
	return measureCells(ctx, o, len(cells), cells, func() *result.Finding { return arbiterFinding(bySize, byProbability, o.Seed) })
}

// arbiterFinding shows the policies at one size, over all sizes, and the circuit.
func arbiterFinding(bySize [][]*arbiterCell, byProbability []*arbiterCell, seed uint64) *result.Finding {
	eight := bySize[slices.Index(arbiterSizes, arbiterSize)]
	var all game
	for _, c := range slices.Concat(bySize...) {
		all.rounds += c.total.rounds
		all.double += c.total.double
	}
	return &result.Finding{
		Answer: arbiterAnswer(eight, all),
		Tables: []result.Table{gameTable(fmt.Sprintf("%d contenders", arbiterSize), "policy", eight), roundsTable(bySize),
			overSizes(bySize, "Fairness (Jain index), by the number of contenders", "", (*arbiterCell).jainCell), probabilityTable(byProbability)},
		Notes: []string{
			fmt.Sprintf("a simulation: it does not depend on this machine, and seed %d gives the same figures again", seed),
			"the formula is 1/(N p (1-p)^(N-1)) rounds for N contenders that pull with probability p; at p = 1/N it rises to e = 2.72 with N",
			"the Jain index is 1 if all win as often, and 1/N if one has all",
		},
	}
}

const unitRounds = "rounds"

func (c *arbiterCell) jainCell() result.Cell {
	if c.total.grants == 0 {
		return result.Cell{Text: "-"}
	}
	return summarize(c.jain)
}

func (c *arbiterCell) formula() result.Cell {
	if c.predict == nil {
		return result.Cell{Text: "-"}
	}
	return summarize([]float64{c.predict(c.n)})
}

func gameTable(caption, label string, cells []*arbiterCell) result.Table {
	t := result.Table{Caption: caption, Label: label,
		Columns: []result.Column{{Name: "for a grant", Unit: unitRounds}, {Name: "by the formula", Unit: unitRounds}, {Name: "Jain index"}}}
	for _, c := range cells {
		t.Rows = append(t.Rows, result.Row{Label: c.name, Cells: []result.Cell{summarize(c.rounds), c.formula(), c.jainCell()}})
	}
	return t
}

func roundsTable(bySize [][]*arbiterCell) result.Table {
	t := overSizes(bySize, "Rounds for a grant, by the number of contenders", unitRounds, func(c *arbiterCell) result.Cell { return summarize(c.rounds) })
	t.Log = true
	t.Columns = append(t.Columns, result.Column{Name: "formula at p = 1/N", Unit: unitRounds, Plot: true})
	for i, row := range bySize {
		n := row[0].n
		t.Rows[i].Cells = append(t.Rows[i].Cells, exact(expectedRounds(n, 1/float64(n))))
	}
	return t
}

func overSizes(bySize [][]*arbiterCell, caption, unit string, cell func(*arbiterCell) result.Cell) result.Table {
	t := result.Table{Caption: caption, Label: "contenders", Chart: result.Lines}
	t.Columns = result.Each(bySize[0], func(c *arbiterCell) result.Column { return result.Column{Name: c.name, Unit: unit, Plot: true} })
	for _, row := range bySize {
		t.Rows = append(t.Rows, result.Row{Label: strconv.Itoa(row[0].n), X: float64(row[0].n), Cells: result.Each(row, cell)})
	}
	return t
}

func probabilityTable(cells []*arbiterCell) result.Table {
	t := gameTable(fmt.Sprintf("Rounds for a grant, %d contenders that pull with a probability", arbiterSize), "probability of a pull", cells)
	t.Chart, t.Log, t.Columns[0].Plot, t.Columns[1].Plot = result.Lines, true, true, true
	for i, p := range probabilities {
		t.Rows[i].X = p
	}
	return t
}

func arbiterAnswer(cells []*arbiterCell, all game) string {
	var parts []string
	for _, c := range cells {
		part := fmt.Sprintf("%s: rounds for a grant %s, Jain index %s", c.name, number(summarize(c.rounds).Median), number(summarize(c.jain).Median))
		if c.total.grants == 0 {
			part = fmt.Sprintf("%s: no grant in %s rounds", c.name, number(float64(c.total.rounds)))
		}
		parts = append(parts, part)
	}
	return fmt.Sprintf("Two won at once in %d of %s rounds with 2 to %d contenders. With %d contenders, %s.",
		all.double, number(float64(all.rounds)), arbiterSizes[len(arbiterSizes)-1], arbiterSize, strings.Join(parts, "; "))
}
