package measure

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"locklab/harness"
	"locklab/internal/machine"
)

// Together connects the processes that measure the cases of a plan at the same time, its
// ranks. Each has its own plan, which differs only in this field.
type Together interface {
	// Rank returns the number of this rank.
	Rank() int

	// Begin waits until each rank has reached the same point, under the same name. If
	// failed is set, this rank cannot continue. Then no rank continues, and all get an
	// error with that rank and the reason.
	//
	// If exact is set, Begin returns the time when all continue, by [machine.Monotonic]. It
	// may be in the past if this rank received it late. Otherwise each rank continues at once.
	Begin(ctx context.Context, point string, exact bool, failed error) (int64, error)

	// Clock sets the fields of r about this process and its clock, for the time since the
	// last call or since the ranks first met.
	Clock(ctx context.Context, r *harness.Rank)
}

// The points of a case where all ranks meet.
const (
	pointServers = "servers" // it has read the meters of the servers; no rank has a client of the lock yet
	pointLock    = "lock"    // its clients are connected
	pointWindow  = "window"  // its workers contend, or are about to in an open loop
)

var points = []string{pointServers, pointLock, pointWindow}

// tail is the time that a rank's workers continue after its window. Windows of other ranks,
// which end a little later, thus keep all contenders to their end.
const tail = 50 * time.Millisecond

// A meeting lets a measuring process meet the other ranks at the points of its case,
// through its parent, which is connected to them. A nil meeting is for a process that has a
// case alone.
type meeting struct {
	out    io.Writer
	begins <-chan int64 // when to continue, by machine.Monotonic, for each point
}

// begin meets at a point and waits until the time when all ranks continue. It returns the
// delay after that time.
func (m *meeting) begin(ctx context.Context, point string) (late time.Duration, err error) {
	if m == nil {
		return 0, nil
	}
	at, err := m.agree(ctx, point)
	if err != nil {
		return 0, err
	}
	if ahead := time.Duration(at - machine.Monotonic()); ahead > 0 {
		select {
		case <-time.After(ahead):
		case <-ctx.Done():
			return 0, context.Cause(ctx)
		}
	}
	return time.Duration(machine.Monotonic() - at), nil
}

// agree meets at a point and returns the time when all ranks continue.
func (m *meeting) agree(ctx context.Context, point string) (at int64, err error) {
	tell(m.out, told{Meet: point})
	select {
	case at := <-m.begins:
		return at, nil
	case <-ctx.Done():
		return 0, context.Cause(ctx)
	}
}

// A relay is the parent's side of a meeting: it meets the other ranks when the measuring
// process reports a point.
type relay struct {
	together Together
	serial   int // of the case and round in the plan

	mu     sync.Mutex
	passed int   // points that all ranks have passed
	err    error // the reason why the case cannot be measured
}

// pass meets all other ranks at the next point.
func (r *relay) pass(ctx context.Context, failed error) (int64, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err != nil {
		return 0, r.err
	}
	if r.passed == len(points) {
		return 0, errors.New("measure: a measuring process comes to one point too many")
	}
	point := points[r.passed]
	at, err := r.together.Begin(ctx, fmt.Sprintf("%d-%s", r.serial, point), point == pointWindow, failed)
	if err != nil {
		if r.err = err; ctx.Err() == nil {
			r.err = &lostError{err: err}
		}
		return 0, r.err
	}
	r.passed++
	return at, nil
}

// end must be called at the end of the measuring process, with its error or nil. If other
// ranks still wait for it at a point, they get the error. It returns the reason why this
// rank has no result, or nil. The reason may be another rank's failure, which ended this
// rank's process.
func (r *relay) end(ctx context.Context, failed error) error {
	r.mu.Lock()
	err, left := r.err, r.passed < len(points)
	r.mu.Unlock()
	if err != nil {
		return err
	}
	if left {
		why := failed
		if why == nil { // it has a result anyway, such as a violation
			why = errors.New("its process ended before the window")
		}
		_, _ = r.pass(ctx, why) // it passes on the reason, and nothing new for this rank
	}
	return failed
}

// watch returns a writer for the output of a measuring process. It forwards lines to out,
// meets the other ranks at each point in them, and writes the start time to in. If the case
// cannot continue it closes in, which ends the process.
func (r *relay) watch(ctx context.Context, out io.Writer, in io.WriteCloser) *relayWriter {
	w := &relayWriter{out: out, at: make(chan struct{}, len(points)), over: make(chan struct{})}
	go func() {
		defer close(w.over)
		for range w.at {
			at, err := r.pass(ctx, nil)
			if err != nil {
				in.Close()
				return
			}
			fmt.Fprintln(in, at)
		}
	}()
	return w
}

// A relayWriter forwards lines, except those that report a point.
type relayWriter struct {
	out  io.Writer
	line []byte        // an incomplete line
	at   chan struct{} // one value for each point that the process reaches
	over chan struct{} // closed when no point is waited for
}

func (w *relayWriter) Write(text []byte) (int, error) {
	w.line = append(w.line, text...)
	for {
		end := bytes.IndexByte(w.line, '\n')
		if end < 0 {
			return len(text), nil
		}
		line := w.line[:end+1]
		w.line = w.line[end+1:]
		var t told
		if len(line) < mostPoint && json.Unmarshal(line, &t) == nil && t.Meet != "" {
			select {
			case w.at <- struct{}{}:
			default:
				return 0, errors.New("it comes to one point too many")
			}
		} else if _, err := w.out.Write(line); err != nil {
			return 0, err
		}
	}
}

// close must be called when the process has ended.
func (w *relayWriter) close() {
	close(w.at)
	<-w.over
}

// mostPoint is a limit above the length of a line that reports a point.
const mostPoint = 100

// part sets the fields of res, from a measuring process, that describe this rank.
func (p *Plan) part(ctx context.Context, res *harness.Result, w harness.Workload) {
	if len(res.Ranks) == 0 { // it has reached no window
		res.Ranks = make([]harness.Rank, 1)
	}
	r := &res.Ranks[0]
	r.Rank, r.Ops = p.Together.Rank(), res.Ops
	r.First, r.Workers = w.Share(r.Rank)
	p.Together.Clock(ctx, r)
	res.Workload = w
}

// ranked sets the fields of the rank that the measuring process can compute.
func ranked(r *harness.Result, d *drive, holds []harness.Hold) {
	zero := machine.MonotonicAt(d.epoch)
	rank := harness.Rank{Zero: zero, Opened: zero + d.t0.at, Closed: zero + d.t1.at, Late: int64(d.late)}
	r.Ranks = []harness.Rank{rank}
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
