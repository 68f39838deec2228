package measure

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"locklab/harness"
	"locklab/harness/result"
	"locklab/internal/stat"
	redislab "locklab/redislock/lab"
)

func TestRace(t *testing.T) {
	w := harness.Workload{Workers: 2, Window: 120e6} // six passes
	round := func(rates ...uint64) (all []*result.Result) {
		for i, rate := range rates {
			b := &result.Blocks{Elapsed: []int64{5, 0, 5}, Ops: []uint64{5 * rate, 0, 5 * rate}, Handovers: make([]uint64, 3)}
			all = append(all, &result.Result{Lock: result.Lock{Name: string(rune('a' + i))}, Workload: w, Ops: rate, Elapsed: 1, Blocks: b})
		}
		return all
	}
	slow, control, remote, once := round(99, 49, 99, 99), round(99, 49, 99, 300), round(99, 49, 99, 99), round(99, 49, 99, 99)
	near, far := round(99, 49, 99, 60), round(99, 29, 99, 60)
	high, low := round(99, 99, 90, 60), round(99, 60, 55, 99)
	even, lower, nearly := round(99, 99, 90, 99), round(99, 75, 69, 75), round(99, 85, 78, 85)
	control[3].Lock.Status, remote[1].Lock.Traits.Needs = harness.Control, harness.KindRedis
	once[1].Blocks.Ops[2] = 5 * 50
	var u unit
	for _, name := range []string{"a", "b", "c", "d"} {
		u = append(u, Case{&harness.Variant{Name: name}, w, false})
	}
	for _, tt := range []struct {
		name   string
		rounds [][]*result.Result
		stays  string
		want   [4]int
	}{
		{"far slower", [][]*result.Result{slow, slow, slow}, "", [4]int{7, 1, 7, 7}},
		{"a reference", [][]*result.Result{slow, slow, slow}, "b", [4]int{6, 6, 6, 6}},
		{"near a reference", [][]*result.Result{near, near, near}, "d", [4]int{6, 6, 6, 6}},
		{"far from the reference, too", [][]*result.Result{far, far, far}, "d", [4]int{7, 1, 7, 7}},
		{"a control is no lock", [][]*result.Result{control, control, control}, "", [4]int{7, 1, 7, 7}},
		{"distributed", [][]*result.Result{remote, remote, remote}, "", [4]int{6, 6, 6, 6}},
		{"no progress", [][]*result.Result{round(0, 0, 0, 0)}, "", [4]int{6, 6, 6, 6}},
		{"half in one block", [][]*result.Result{slow, slow, once, slow, slow}, "", [4]int{6, 6, 6, 6}},
		{"noisy", [][]*result.Result{high, low, high}, "a", [4]int{12, 12, 12, 12}},
		{"a little noisy", [][]*result.Result{even, lower, even}, "a", [4]int{12, 12, 12, 12}},
		{"quiet", [][]*result.Result{even, nearly, even}, "a", [4]int{6, 6, 6, 6}},
		{"noisy, few rounds", [][]*result.Result{high, low}, "a", [4]int{6, 6, 6, 6}},
		{"noisy, no time", [][]*result.Result{high, low, high}, "a", [4]int{6, 6, 6, 6}},
	} {
		r := Race{Reference: func(l result.Lock) bool { return l.Name == tt.stays }, seen: make(map[string]*racer), spare: tt.name != "noisy, no time"}
		for _, all := range tt.rounds {
			r.count(all)
		}
		if got := r.passes(u, 6); [4]int(got) != tt.want {
			t.Errorf("%s: passes %v, want %v", tt.name, got, tt.want)
		}
	}
}

// TestRaceErrors: whether far slower locks leave or noisy processes have more passes, a column
// of locks that equal the reference shows a difference in at most 5 % of runs. The blocks have
// normal noise, or one of two rates.
func TestRaceErrors(t *testing.T) {
	const locks, equal, tries = 16, 9, 200
	var u unit
	for i := range locks {
		u = append(u, Case{Lock: &harness.Variant{Name: string(rune('a' + i))}, Workload: harness.Workload{Workers: 2}})
	}
	for name, noise := range map[string]func(*rand.Rand) float64{
		"normal":    func(rng *rand.Rand) float64 { return 0.3 * rng.NormFloat64() },
		"two rates": func(rng *rand.Rand) float64 { return 1.4 * float64(rng.IntN(2)) },
	} {
		rng, wrong, most := rand.New(rand.NewPCG(3, 5)), 0, 0
		for range tries {
			r := Race{Reference: func(l result.Lock) bool { return l.Name == "a" }, seen: make(map[string]*racer), spare: true}
			ratios := make([][]float64, locks)
			for range 11 {
				var all []*result.Result
				for i, passes := range r.passes(u, 2) {
					most = max(most, passes)
					x := &result.Result{Lock: result.Lock{Name: u[i].Lock.Name}, Workload: u[i].Workload, Elapsed: 1, Blocks: new(result.Blocks)}
					for pass := range passes {
						rate := 1e6 * math.Exp(noise(rng))
						if i >= equal {
							rate *= 0.2
						}
						x.Blocks.Elapsed, x.Blocks.Handovers = append(x.Blocks.Elapsed, 1), append(x.Blocks.Handovers, 0)
						x.Blocks.Ops, x.Blocks.Passes = append(x.Blocks.Ops, uint64(rate)), append(x.Blocks.Passes, pass)
						x.Ops += uint64(rate)
					}
					all = append(all, x)
				}
				r.count(all)
				for i, x := range all {
					ratios[i] = append(ratios[i], stat.MedianRatio(ratesTo(x, all[0])))
				}
			}
			ones := slices.Repeat([]float64{1}, 11)
			if rs := result.Each(ratios[1:], func(xs []float64) stat.Ratio { return stat.Paired(xs, ones, stat.Level(locks-1)) }); slices.ContainsFunc(stat.Moderate(rs)[:equal-1], func(x stat.Ratio) bool { return x.Less() || x.Greater() }) {
				wrong++
			}
		}
		if t.Logf("%s: %d of %d columns, at most %d passes", name, wrong, tries, most); wrong > tries/20 || most <= 2 {
			t.Errorf("%s: %d of %d columns of equal locks show a difference; at most %d passes", name, wrong, tries, most)
		}
	}
}

func TestBlocksOfPass(t *testing.T) {
	reference, other := Case{Lock: good}, Case{Lock: readers}
	remote := Case{Lock: &harness.Variant{Name: good.Name, Remote: redislab.Suite[0].Remote}}
	r := Race{Reference: func(l result.Lock) bool { return l.Name == good.Name }}
	for _, tt := range []struct {
		race    Race
		c       Case
		n, want int
	}{{r, reference, 2, 1}, {r, reference, 7, 2}, {r, reference, 16, 4}, {r, other, 16, 1}, {r, remote, 16, 1}, {Race{}, reference, 16, 1}} {
		if got := tt.race.blocks(tt.c, tt.n); got != tt.want {
			t.Errorf("%s of %d: %d blocks a pass, want %d", tt.c.Lock.Name, tt.n, got, tt.want)
		}
	}
}
