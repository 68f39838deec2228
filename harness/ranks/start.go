package ranks

import (
	"context"
	"crypto/rand"
	"fmt"
	"locklab/internal/machine"
	"os"
	"time"
)

const (
	// minLead is from the last rank's arrival to the start: a poll, a few requests, and
	// a scheduler that is late.
	minLead = 200 * time.Millisecond
	maxLead = 5 * time.Second
)

// A departure is what a rank posts for a start. All in ns.
type departure struct {
	Time    int64 // when it came, of the common clock
	Error   int64 // of Time, -1 if nothing is known
	Learned int64 // how long after the last rank had come to the start before it knew that
}

// Start returns when all ranks begin together: at the greatest of the times at which they
// came, by the common clock, and 200 ms, or twice what a rank has needed lately to learn
// that all have come, at most 5 s. It is a barrier. The time is of this process's
// monotonic clock, and exact to what Clock says, which Start looks at, and measures anew if
// the server's clock was set.
//
// If the time has passed when this rank learns of it, it is returned all the same, without
// an error: the caller sees that it is in the past, and records by how much. If a
// rank's clock is not known, all begin as soon as they know that all have come, within
// about 50 ms.
func (g *Group) Start(ctx context.Context, name string) (time.Time, error) {
	if err := g.check(ctx); err != nil {
		return time.Time{}, err
	}
	c := g.Clock()
	g.mu.Lock()
	learned := g.learned
	g.mu.Unlock()
	all, err := gatherJSON(ctx, g, "start "+name, departure{machine.Monotonic() + c.Offset, c.Error, int64(learned)})
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

// bothClocks returns the monotonic time in both forms.
func bothClocks() (ns int64, t time.Time) {
	t = time.Now()
	return machine.MonotonicAt(t), t
}

// depart returns when to start, in ns of the own monotonic clock, which shows now; how
// late it is known; and why nothing is known of the own clock any more, "" if that is
// not so.
//
// All others have come before this rank read so. One that came later than now, by the
// clocks, has another common clock than this one, which can then not be said to be right.
func depart(all []departure, c Clock, now int64) (at int64, learned time.Duration, why string) {
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

// ownClock names a clock that no other process reads.
func ownClock() string {
	return fmt.Sprintf("process %d %s", os.Getpid(), own.nonce)
}

// own is of this process: when it began and a name that no other has.
var own = struct {
	began time.Time
	nonce string
}{time.Now(), rand.Text()}
