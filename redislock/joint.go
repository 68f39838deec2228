package redislock

import (
	"context"
	"fmt"
	"locklab/lock"
	"slices"
	"sync"
	"time"
)

type joint struct {
	need int
	all  *Lease

	mu    sync.Mutex
	parts []*Lease
	begun bool
	over  bool
	told  time.Time // last end that the trace was notified of
}

// newJoint returns a joint without parts, whose lease is all. Call begin once it is complete.
func newJoint(c *Client, name string, need int) *joint {
	j := &joint{need: need}
	j.all = &Lease{c: c, name: name, joint: j}
	j.all.alive, j.all.cancel = context.WithCancelCause(context.Background())
	return j
}

func (j *joint) add(l *Lease) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.over {
		return false
	}
	j.parts = append(j.parts, l)
	l.whole.Store(j)
	if len(j.parts) > j.need { // begin watches the first need parts
		context.AfterFunc(l.alive, j.check)
	}
	return true
}

func (j *joint) lasts() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.begun && !j.over
}

func (j *joint) spread() bool {
	return slices.ContainsFunc(j.members(), func(l *Lease) bool { return l.c != j.all.c })
}

// begin returns the lease of the parts, at least need of them, or already lost.
func (j *joint) begin() *Lease {
	for _, l := range j.members() {
		context.AfterFunc(l.alive, j.check)
	}
	until := j.until()
	j.mu.Lock()
	defer j.mu.Unlock()
	j.told, j.begun = until, true
	return j.all
}

// renewed notifies the trace when parts extend the whole: once for simultaneous renewals.
func (j *joint) renewed(l *Lease) {
	j.all.c.mu.Lock()
	t := j.all.trace
	j.all.c.mu.Unlock()
	if t == nil || t.Renewed == nil {
		return
	}
	until := j.until()
	j.mu.Lock()
	more := !j.over && until.Sub(j.told) > l.span/renewTries // smaller differences only reflect the other parts
	if more {
		j.told = until
	}
	j.mu.Unlock()
	if more {
		t.Renewed(lock.RenewedInfo{Name: j.all.name, Token: j.all.token, Until: j.all.c.clock.Local(until)})
	}
}

func (j *joint) check() {
	j.mu.Lock()
	defer j.mu.Unlock()
	var lost error
	left := 0
	for _, l := range j.parts {
		if err := l.Err(); err != nil {
			lost = err
		} else {
			left++
		}
	}
	if left < j.need && !j.over {
		j.all.end(fmt.Errorf("%w: %d of %d parts are left, fewer than %d: %w", ErrLost, left, len(j.parts), j.need, lost))
	}
}

func (j *joint) members() []*Lease {
	j.mu.Lock()
	defer j.mu.Unlock()
	return slices.Clone(j.parts)
}

// dissolve returns the parts for the last time: their end no longer affects the lease.
func (j *joint) dissolve() []*Lease {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.over = true
	return j.parts
}

// until returns the time until which enough parts are certainly held.
func (j *joint) until() time.Time {
	var ends []time.Time
	for _, l := range j.members() {
		ends = append(ends, j.all.c.clock.From(l.c.clock, l.until()))
	}
	if len(ends) < j.need {
		return time.Time{}
	}
	slices.SortFunc(ends, time.Time.Compare)
	return ends[len(ends)-j.need]
}

func (l *Lease) discard(ctx context.Context) error {
	l.state.Store(stateUnlocked)
	return l.release(ctx, l.finish(ErrReleased))
}

func (j *joint) unwind(ctx context.Context) (held bool, err error) {
	for _, l := range slices.Backward(j.dissolve()) {
		switch failed := l.discard(ctx); {
		case err == nil:
			err = failed
		case failed != nil: // in one line
			err = fmt.Errorf("%w; %w", err, failed)
		}
	}
	return err == nil, err
}
