package judge

import (
	"math"
	"testing"

	"locklab/harness/result"
	"locklab/internal/synthetic"
)

func TestBlocksDecide(t *testing.T) {
	blocks := func(process uint64, factor float64) *result.Blocks {
		b := &result.Blocks{Process: process}
		for pass := range 5 { // each pass twice as fast as the previous one
			b.Elapsed = append(b.Elapsed, 1e7)
			b.Ops = append(b.Ops, uint64(1000*factor)<<pass)
			b.Handovers = append(b.Handovers, uint64(500*factor)<<pass)
		}
		return b
	}
	several := &result.Blocks{Process: 1} // two blocks in each pass
	for i := range 10 {
		one := blocks(1, 1)
		several.Passes = append(several.Passes, i/2)
		several.Elapsed, several.Ops = append(several.Elapsed, one.Elapsed[i/2]), append(several.Ops, one.Ops[i/2])
		several.Handovers = append(several.Handovers, one.Handovers[i/2])
	}
	two := func(first, second uint64) *result.Blocks {
		return &result.Blocks{Process: 1, Elapsed: []int64{1, 1}, Ops: []uint64{first, second}, Handovers: []uint64{0, 0}}
	}
	for name, c := range map[string]struct {
		a, b *result.Blocks
		m    *result.Metric
		want float64
	}{
		"rates":             {blocks(1, 3), blocks(1, 1), result.Throughput, 3},
		"several in a pass": {blocks(1, 3), several, result.Throughput, 3},
		"handovers":         {blocks(1, 4), blocks(1, 1), result.Handovers, 4},
		"1 and 4":           {two(3, 12), two(3, 3), result.Throughput, 2},
		"1/4 and 1":         {two(3, 3), two(12, 3), result.Throughput, 0.5},
		"0 and 10":          {two(0, 30), two(3, 3), result.Throughput, 0.1},
		"infinity and 1/10": {two(3, 3), two(0, 30), result.Throughput, 10},
		"another metric":    {blocks(1, 3), blocks(1, 1), result.Jain, 1},
		"another process":   {blocks(1, 3), blocks(2, 1), result.Throughput, 2},
		"no blocks":         {nil, blocks(1, 1), result.Throughput, 2},
		"damaged":           {&result.Blocks{Process: 1, Ops: []uint64{1}, Elapsed: []int64{0}, Handovers: []uint64{1}}, blocks(1, 1), result.Throughput, 2},
		"0 in each block":   {blocks(1, 0), blocks(1, 1), result.Throughput, 2},
		"infinity":          {blocks(1, 1), blocks(1, 0), result.Handovers, 2},
	} {
		steady := func(m *synthetic.Model) { m.Noise = 0 }
		run := synthetic.Run(1, 6, 2, []int{8}, synthetic.With(synthetic.Fast("a", 2e6), steady), synthetic.With(synthetic.Fast("b", 1e6), steady))
		for _, r := range run.Results {
			if r.Blocks = c.b; r.Lock.Name == "a" {
				r.Blocks = c.a
			}
		}
		g := Groups(run)[0]
		xs, ys := Pairs(g.Series[0].Cells[8], g.Series[1].Cells[8], c.m)
		if len(xs) != 6 || math.Abs(xs[0]/ys[0]-c.want) > 0.01 {
			t.Errorf("%s: %v over %v, want a ratio of %v", name, xs, ys, c.want)
		}
		ms, err := relative([]*result.Metric{c.m}, []*result.Run{run}, []string{"b"})
		if x := ms[0].Read(g.Series[0].Cells[8].Rounds[0]); err != nil || math.Abs(x.Value-c.want) > 0.01 {
			t.Errorf("%s: relative to b %+v, %v, want %v", name, x, err, c.want)
		}
		r := g.Series[0].Cells[8].Rounds[0]
		r.Workload.Workers, r.Workers = 1, nil
		if x := ms[0].Read(r); x.Known && c.m == result.Handovers {
			t.Errorf("%s of one worker: %+v", name, x)
		}
	}
}
