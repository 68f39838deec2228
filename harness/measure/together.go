package measure

import (
	"context"
	"fmt"

	"locklab/harness"
	"locklab/harness/result"
	"locklab/internal/machine"
)

// Rank returns the number of this rank.
func (g *Ranks) Rank() int { return g.options.Rank }

// Begin waits until each rank has reached the same point: see [Together].
func (g *Ranks) Begin(ctx context.Context, point string, exact bool, failed error) (int64, error) {
	var why []byte
	if failed != nil {
		why = []byte(result.OneLine(failed.Error()))
	}
	all, err := g.Gather(ctx, point, why)
	if err != nil {
		return 0, err
	}
	for rank, why := range all {
		if len(why) > 0 {
			return 0, fmt.Errorf("%v cannot measure it: %s", g.members[rank], result.OneLine(string(why)))
		}
	}
	if !exact {
		return machine.Monotonic(), nil
	}
	at, err := g.start(ctx, point)
	return machine.MonotonicAt(at), err
}

// Clock sets the fields of r about this process and its clock, since the last call.
func (g *Ranks) Clock(ctx context.Context, r *harness.Rank) {
	self := g.members[g.options.Rank]
	r.Host, r.PID, r.Clock, r.Error = self.Host, self.PID, RankClockName(), -1
	before := g.rankClock()
	if g.measureClock(ctx) == nil {
		c := before.Until(g.rankClock())
		r.Offset, r.Error = c.Offset, c.Error
	}
}
