package runner

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

// Together is how the processes that share the cases of a plan, its ranks, come to
// measure them at the same time. Each has a plan of its own, which is the same but for this.
type Together interface {
	// Rank returns which of the ranks this is.
	Rank() int

	// Begin waits until each rank has come to this point, which every rank names alike. With
	// failed this rank says that it cannot go on; then none does, and it is an error for
	// all, which says which rank and why.
	//
	// If exact is set it returns when all go on, a time of [machine.Monotonic], perhaps
	// in the past if this rank came to know of it late; else each goes on at once.
	Begin(ctx context.Context, point string, exact bool, failed error) (int64, error)

	// Clock fills in what of r is about this process and its clock since the last time that it was
	// asked, or since the ranks came together first.
	Clock(ctx context.Context, r *harness.Rank)
}

// The points of a case to which all ranks come together.
const (
	pointServers = "servers" // it has read the meters of the servers; none has a client of the lock yet
	pointLock    = "lock"    // its clients are connected
	pointWindow  = "window"  // its workers contend, in an open loop: are about to
)

// points are all of them, in order.
var points = []string{pointServers, pointLock, pointWindow}

// tail is how long a rank's workers go on after its window, so that those of others, which
// end a little later, have all their contenders until they do.
const tail = 50 * time.Millisecond

// A meeting is how a measuring process comes to the points of its case, through the
// process that started it, which knows the other ranks. Its nil is that of a process that has
// a case for itself.
type meeting struct {
	out    io.Writer
	begins <-chan int64 // when to go on, by machine.Monotonic, for each point
}

// begin comes to a point and waits until the time when all ranks go on from there. It returns
// by how much it was too late.
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

// agree comes to a point and returns when all ranks go on from there.
func (m *meeting) agree(ctx context.Context, point string) (at int64, err error) {
	tell(m.out, told{Meet: point})
	select {
	case at := <-m.begins:
		return at, nil
	case <-ctx.Done():
		return 0, context.Cause(ctx)
	}
}

// A relay is the side of the process that starts a measuring one: it comes to the points of the
// case with the other ranks when the measuring process says that it is there.
type relay struct {
	together Together
	serial   int // of the case and round in the plan

	mu     sync.Mutex
	passed int   // points that all ranks have passed
	err    error // why the case cannot be measured
}

// pass comes to the next point with all other ranks.
func (r *relay) pass(ctx context.Context, failed error) (int64, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err != nil {
		return 0, r.err
	}
	if r.passed == len(points) {
		return 0, errors.New("runner: a measuring process comes to one point too many")
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

// end is called when the measuring process has ended, with what it failed by, or nil. If other
// ranks still wait for it at a point, they are told. It returns why this rank has no
// result, if that is so: that another one could not measure is why its own process ended.
func (r *relay) end(ctx context.Context, failed error) error {
	r.mu.Lock()
	err, left := r.err, r.passed < len(points)
	r.mu.Unlock()
	if err != nil {
		return err
	}
	if left {
		why := failed
		if why == nil { // it has a result nonetheless, such as that the lock is broken
			why = errors.New("its process ended before the window")
		}
		_, _ = r.pass(ctx, why) // which says why, and nothing new to this rank
	}
	return failed
}

// watch returns what a measuring process is to print to: it comes to the points that the process
// comes to, writes to in when to go on, and what else the process says to out. Where
// there is no going on it closes in, which ends the process.
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

// A relayWriter writes lines on, but for those that come to a point.
type relayWriter struct {
	out  io.Writer
	line []byte        // that has not ended
	at   chan struct{} // has one for each point to which the process has come
	over chan struct{} // closed when none of them is waited at any more
}

// Write implements io.Writer.
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

// close is called when the process has ended.
func (w *relayWriter) close() {
	close(w.at)
	<-w.over
}

// mostPoint is more than a line takes that comes to a point.
const mostPoint = 100

// part fills in what of res, a measuring process's, is about this rank.
func (p *Plan) part(ctx context.Context, res *harness.Result, w harness.Workload) {
	if len(res.Ranks) == 0 { // it has come to no window
		res.Ranks = make([]harness.Rank, 1)
	}
	r := &res.Ranks[0]
	r.Rank, r.Ops = p.Together.Rank(), res.Ops
	r.First, r.Workers = w.Share(r.Rank)
	p.Together.Clock(ctx, r)
	res.Workload = w
}

// ranked fills in what the measuring process knows of its rank.
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

// mostHolds is how many acquisitions of a window a rank keeps: some megabytes on disk.
const mostHolds = 1 << 18
