package measure

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"locklab/harness"
	"locklab/harness/result"
	"locklab/internal/machine"
)

// The points of a case where all ranks meet.
const (
	pointServers = "servers" // it has read the meters of the servers; no rank has a client of the lock yet
	pointLock    = "lock"    // its clients are connected
	pointWindow  = "window"  // its workers contend, or are about to in an open loop
)

var points = []string{pointServers, pointLock, pointWindow}

// tail is the time that workers continue after the window, for other ranks' windows.
const tail = 50 * time.Millisecond

// checkpoints let a measuring process meet the other ranks, through its parent. They are nil
// for a process that has a case alone.
type checkpoints struct {
	out    io.Writer
	begins <-chan int64 // when to continue, by machine.Monotonic, for each point
}

// begin meets at a point, waits until all continue, and returns how late it is.
func (m *checkpoints) begin(ctx context.Context, point string) (late time.Duration, err error) {
	if m == nil {
		return 0, nil
	}
	tell(m.out, told{Meet: point})
	select {
	case at := <-m.begins:
		if !sleep(ctx, time.Duration(at-machine.Monotonic())) {
			return 0, context.Cause(ctx)
		}
		return time.Duration(machine.Monotonic() - at), nil
	case <-ctx.Done():
		return 0, context.Cause(ctx)
	}
}

// A relay is the parent's side of checkpoints.
type relay struct {
	together *Ranks
	serial   int // of the case and round in the plan

	mu     sync.Mutex
	passed int   // points that all ranks have passed
	err    error // the reason why the case cannot be measured
}

func (r *relay) pass(ctx context.Context, failed error) (int64, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err != nil {
		return 0, r.err
	}
	if r.passed == len(points) {
		return 0, errors.New("measure: a measuring process reached an unexpected synchronization point")
	}
	point := points[r.passed]
	at, err := r.together.begin(ctx, fmt.Sprintf("%d-%s", r.serial, point), point == pointWindow, failed)
	if err != nil {
		if r.err = err; ctx.Err() == nil {
			r.err = &lostError{err: err}
		}
		return 0, r.err
	}
	r.passed++
	return at, nil
}

// end must be called at the end of the measuring process, with its error, which other ranks
// that wait get. It returns the reason without a result, perhaps another rank's failure, or
// nil.
func (r *relay) end(ctx context.Context, failed error) error {
	r.mu.Lock()
	err, left := r.err, r.passed < len(points)
	r.mu.Unlock()
	if err != nil {
		return err
	}
	if left {
		// It may have a result anyway, such as a violation.
		why := cmp.Or(failed, errors.New("its process ended before the window"))
		_, _ = r.pass(ctx, why) // it passes on the reason, and nothing new for this rank
	}
	return failed
}

// answer meets the other ranks at the next point, and writes the start to in, or closes it if
// the case cannot continue.
func (r *relay) answer(ctx context.Context, in io.WriteCloser) {
	if at, err := r.pass(ctx, nil); err != nil {
		in.Close()
	} else {
		fmt.Fprintln(in, at)
	}
}

func (p *Plan) part(ctx context.Context, res *result.Result, w harness.Workload) {
	if len(res.Ranks) == 0 { // it has reached no window
		res.Ranks = make([]result.Rank, 1)
	}
	r := &res.Ranks[0]
	r.Rank, r.Ops = p.Together.options.Rank, res.Ops
	r.First, r.Workers = w.Share(r.Rank)
	p.Together.describe(ctx, r)
	res.Workload = w
}

func ranked(r *result.Result, d *drive, holds []harness.Hold) {
	now, mono := machine.ReadTogether(d.now, func() uint64 { return uint64(machine.Monotonic()) })
	zero := int64(mono) - now
	rank := result.Rank{Zero: zero, Opened: zero + d.t0.at, Closed: zero + d.t1.at, Late: int64(d.late)}
	r.Ranks = []result.Rank{rank}
	for _, h := range holds {
		if h.Releasing < d.t0.at || h.Acquired >= d.t1.at {
			continue
		}
		if len(r.Holds) == mostHolds {
			r.HoldsLost++
			continue
		}
		r.Holds = append(r.Holds, h)
	}
}

// mostHolds limits the stored acquisitions of a window per rank: some megabytes on disk.
const mostHolds = 1 << 18

// An arrival is a rank's post at a point.
type arrival struct {
	Time, Error int64  // on the common clock, and of it, in ns; Error is -1 if nothing is known
	Failed      string // the reason why it cannot continue, or ""
}

// begin waits until each rank has reached the same point. If failed is set, none continues, and
// all get an error with this rank and the reason.
//
// If exact is set, begin returns the time when all continue, by [machine.Monotonic], perhaps in
// the past. Otherwise each rank continues at once.
func (g *Ranks) begin(ctx context.Context, point string, exact bool, failed error) (int64, error) {
	own := arrival{Time: machine.Monotonic() + g.clock.Offset, Error: g.clock.Error}
	if failed != nil {
		own.Failed = result.OneLine(failed.Error())
	}
	text, err := json.Marshal(own)
	if err != nil {
		return 0, fmt.Errorf("measure: %w", err)
	}
	values, err := g.Gather(ctx, point, text)
	if err != nil {
		return 0, err
	}
	all, err := decode[arrival](g, values)
	if err != nil {
		return 0, err
	}
	for rank, a := range all {
		if a.Failed != "" {
			return 0, fmt.Errorf("%v cannot measure it: %s", g.members[rank], result.OneLine(a.Failed))
		}
	}
	now := machine.Monotonic()
	if !exact {
		return now, nil
	}
	return commonStart(all, g.clock, now), nil
}

// describe sets the fields of r about this process and its clock, since the last call.
func (g *Ranks) describe(ctx context.Context, r *result.Rank) {
	self := g.members[g.options.Rank]
	r.Host, r.PID, r.Clock, r.Error = self.Host, self.PID, RankClockName(), -1
	before := g.clock
	if g.measureClock(ctx) == nil {
		c := before.Until(g.clock)
		r.Offset, r.Error = c.Offset, c.Error
	}
}
