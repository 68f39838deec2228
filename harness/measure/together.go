package measure

import (
	"context"
	"fmt"

	"locklab/harness"
	"locklab/harness/result"
	"locklab/internal/machine"
)

// Together returns g as the ranks of a plan.
func (g *Ranks) Together() Together { return groupOfPlan{g} }

type groupOfPlan struct{ group *Ranks }

func (m groupOfPlan) Rank() int { return m.group.options.Rank }

func (m groupOfPlan) Begin(ctx context.Context, point string, exact bool, failed error) (int64, error) {
	var why []byte
	if failed != nil {
		why = []byte(result.OneLine(failed.Error()))
	}
	all, err := m.group.Gather(ctx, point, why)
	if err != nil {
		return 0, err
	}
	for rank, why := range all {
		if len(why) > 0 {
			return 0, fmt.Errorf("%v cannot measure it: %s", m.group.members[rank], result.OneLine(string(why)))
		}
	}
	if !exact {
		return machine.Monotonic(), nil
	}
	at, err := m.group.Start(ctx, point)
	return machine.MonotonicAt(at), err
}

func (m groupOfPlan) Clock(ctx context.Context, r *harness.Rank) {
	self := m.group.members[m.Rank()]
	r.Host, r.PID, r.Clock, r.Error = self.Host, self.PID, RankClockName(), -1
	before := m.group.Clock()
	if m.group.Measure(ctx) == nil {
		c := before.Until(m.group.Clock())
		r.Offset, r.Error = c.Offset, c.Error
	}
}
