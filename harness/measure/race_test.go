package measure

import (
	"testing"

	"locklab/harness"
	"locklab/harness/result"
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
	} {
		r := Race{func(l result.Lock) bool { return l.Name == tt.stays }, make(map[string]int)}
		for _, all := range tt.rounds {
			r.count(all)
		}
		if got := r.passes(u, 6); [4]int(got) != tt.want {
			t.Errorf("%s: passes %v, want %v", tt.name, got, tt.want)
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
