package measure

import (
	"context"
	"encoding/json"
	"fmt"
	"locklab/internal/machine"
	"time"
)

const (
	// minLead is the time from the last rank's arrival to the start: a poll, a few
	// requests, and a late scheduler.
	minLead = 200 * time.Millisecond
	maxLead = 5 * time.Second
)

// A departure is a rank's post for a start. All in ns.
type departure struct {
	Time    int64 // of arrival, on the common clock
	Error   int64 // of Time, -1 if nothing is known
	Learned int64 // from the last rank's arrival until this rank learned of it
}

// start returns the common start of all ranks: the latest arrival plus 200 ms, or twice the
// time that a rank recently needed to learn that all have come, at most 5 s. It is a
// barrier. The time is on this process's monotonic clock, as exact as the clock, which start
// checks and measures again if the server's clock was set.
//
// A time that has passed is returned without an error: the caller records the delay. If a
// rank's clock is unknown, all begin when they learn that all have come, within about 50 ms.
func (g *Ranks) start(ctx context.Context, name string) (time.Time, error) {
	if err := g.check(ctx); err != nil {
		return time.Time{}, err
	}
	c := g.rankClock()
	g.mu.Lock()
	learned := g.learned
	g.mu.Unlock()
	own, err := json.Marshal(departure{machine.Monotonic() + c.Offset, c.Error, int64(learned)})
	if err != nil {
		return time.Time{}, fmt.Errorf("measure: %w", err)
	}
	values, err := g.Gather(ctx, "start "+name, own)
	if err != nil {
		return time.Time{}, err
	}
	all, err := decode[departure](g, values)
	if err != nil {
		return time.Time{}, err
	}
	now, here := bothClocks()
	at, learned, why := depart(all, c, now)
	g.mu.Lock()
	g.learned = learned
	if why != "" {
		g.clock = unknown(why)
	}
	g.mu.Unlock()
	return here.Add(time.Duration(at - now)), nil
}

func bothClocks() (ns int64, t time.Time) {
	t = time.Now()
	return machine.MonotonicAt(t), t
}

// depart returns the start time, in ns of the own monotonic clock, which shows now, and
// how late it is known. It also returns why the own clock is not known any more, or "".
//
// All others came before this rank read their posts. If one came later than now, by the
// clocks, the two common clocks differ, so this one cannot be trusted.
func depart(all []departure, c RankClock, now int64) (at int64, learned time.Duration, why string) {
	last, lead := all[0], int64(minLead)
	known := c.Error >= 0
	for _, d := range all {
		known = known && d.Error >= 0
		if d.Time > last.Time {
			last = d
		}
		lead = max(lead, 2*d.Learned)
	}
	lead = min(lead, int64(maxLead))
	if !known {
		return now + lead, 0, ""
	}
	since := now - (last.Time - c.Offset)
	allowed := c.Error + last.Error
	if c.At != 0 {
		allowed += drift(now - c.At)
	}
	if since < -allowed {
		return now + lead, 0, fmt.Sprintf("another rank came %v after this one knew of it, by their clocks: the server's was set", time.Duration(-since))
	}
	return now - since + lead, time.Duration(max(0, since)), ""
}
