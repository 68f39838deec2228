//go:build systematic

package explore

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"locklab/atomics"
	"locklab/harness"
)

// A Plan is how a lock is used, and how far the schedules are explored.
type Plan struct {
	Use    Use
	Limits Limits
}

// Plans have two workers that acquire twice, so that one acquisition meets the remains of another.
// They also have three workers, so that one is in the middle of a queue. Waiters poll, or they
// sleep if the lock can wake them. In the last plan a worker acquires again, and another sleeps
// behind it, before its previous successor is awake.
var Plans = []Plan{
	{Use{Acquisitions: []int{2, 2}, Nodes: []int{0, 1}, Wait: harness.WaitPause}, Limits{Preemptions: 3, Reorderings: 2}},
	{Use{Acquisitions: []int{2, 2}, Nodes: []int{0, 1}, Wait: harness.WaitPark}, Limits{Preemptions: 3, Reorderings: 2}},
	{Use{Acquisitions: []int{2, 2}, Nodes: []int{0, 1}, Wait: harness.WaitPause, Try: true}, Limits{Preemptions: 3, Reorderings: 1}},
	{Use{Acquisitions: []int{1, 1, 1}, Nodes: []int{0, 1, 0}, Wait: harness.WaitPause}, Limits{Preemptions: 3, Reorderings: 1}},
	{Use{Acquisitions: []int{1, 1, 1}, Nodes: []int{0, 1, 0}, Wait: harness.WaitPark}, Limits{Preemptions: 3, Reorderings: 1}},
	{Use{Acquisitions: []int{2, 1, 1}, Nodes: []int{0, 1, 0}, Wait: harness.WaitPause}, Limits{Preemptions: 2, Reorderings: 1}},
	{Use{Acquisitions: []int{2, 2, 1}, Nodes: []int{0, 1, 0}, Wait: harness.WaitPark}, Limits{Preemptions: 2, Reorderings: 1}},
}

// A Suite is the locks of a package and their special cases.
type Suite struct {
	Locks []*harness.Variant

	// Unexplored maps each excluded lock to the reason: it blocks in something other than an
	// atomics.Parker, or depends on time.
	Unexplored map[string]string

	// More are further plans for a lock by name.
	More map[string][]Plan
}

// Run explores every lock by every plan it has workers for. A Failure ends with a line of
// decisions, which [Replay] repeats. A lock with status Broken must fail.
func (s Suite) Run(t *testing.T) {
	for _, name := range slices.Sorted(maps.Keys(s.Unexplored)) {
		if s.Unexplored[name] == "" || !slices.ContainsFunc(s.Locks, func(v *harness.Variant) bool { return v.Name == name }) {
			t.Errorf("%q is no lock of the suite, or there is no reason to leave it out", name)
		}
	}
	for _, v := range s.Locks {
		t.Run(v.Name, func(t *testing.T) {
			if why, ok := s.Unexplored[v.Name]; ok {
				t.Skip("not explored: " + why)
			}
			if err := s.explore(t, v); err != nil {
				t.Error(err)
			}
		})
	}
}

func (s Suite) explore(t *testing.T, v *harness.Variant) error {
	for _, p := range slices.Concat(Plans, s.More[v.Name]) {
		if most := v.Traits.MaxWorkers; most > 0 && len(p.Use.Acquisitions) > most {
			continue
		}
		start := time.Now()
		r := Explore(Lock(v, p.Use), p.Limits)
		t.Logf("acquisitions %v, wait=%v, try=%t, %d preemptions, %d reorderings: %d schedules, %d states, %v",
			p.Use.Acquisitions, p.Use.Wait, p.Use.Try, p.Limits.Preemptions, p.Limits.Reorderings,
			r.Schedules, r.States, time.Since(start).Round(time.Millisecond))
		switch {
		case r.Failure != nil && v.Status == harness.Broken:
			return nil
		case r.Failure != nil:
			return r.Failure
		case !r.Complete:
			return fmt.Errorf("%s: not all schedules of %v were explored", v.Name, p.Use.Acquisitions)
		}
	}
	if v.Status == harness.Broken {
		return fmt.Errorf("%s is said to be broken, and passes: say in Unexplored why", v.Name)
	}
	return nil
}

// ErrRead means that an optimistic reader accepted an inconsistent value.
var ErrRead = errors.New("explore: a reader saw half of a write")

// A Use is how a lock is used by the workers of a program.
type Use struct {
	Acquisitions []int              // how often each worker takes the lock
	Wait         harness.WaitPolicy // how it waits
	Nodes        []int              // where the workers are, see harness.Setup
	// Try makes every second acquisition a TryLock, if the lock has it.
	Try bool
}

// Lock returns a program in which workers repeatedly take a lock of variant v. It checks the claims
// of v: exclusion or the number of permits, order of arrival, reentrance, and that every worker
// gets the lock. If v supports readers, every second acquisition is a reader's.
func Lock(v *harness.Variant, u Use) func() Program {
	return func() Program {
		l := v.Local(harness.Setup{Workers: len(u.Acquisitions), Wait: u.Wait, Nodes: u.Nodes})
		var data [2]atomics.Uint64
		p := Program{
			Shared:  l,
			Permits: v.Traits.Permits,
			FIFO:    v.Traits.FIFO && !v.Traits.ReadWrite,
		}
		for i, times := range u.Acquisitions {
			c := client{handle: l.Worker(i), reentrant: v.Traits.Reentrant, data: &data}
			p.Workers = append(p.Workers, func(w *Worker) {
				for k := range times {
					c.use(w, k+i, u.Try)
				}
			})
		}
		return p
	}
}

type client struct {
	handle    sync.Locker
	reentrant bool
	data      *[2]atomics.Uint64 // both the same, if a reader is to see them
}

func (c *client) use(w *Worker, k int, try bool) {
	odd := k%2 == 1
	switch h := c.handle.(type) {
	case harness.RWLocker:
		if odd {
			w.Asks()
			h.RLock()
			w.EnterShared()
			w.Leave()
			h.RUnlock()
			return
		}
	case harness.OptimisticReader:
		if odd {
			c.read(w, h)
		} else {
			c.write(w)
		}
		return
	}
	if t, ok := c.handle.(harness.TryLocker); ok && odd && try {
		if !t.TryLock() {
			return
		}
		w.Enter()
		w.Leave()
		c.handle.Unlock()
		return
	}
	w.Asks()
	c.handle.Lock()
	if c.reentrant {
		c.handle.Lock()
		//lint:ignore SA2001 this unlock must not let a worker in
		c.handle.Unlock()
	}
	w.Enter()
	w.Leave()
	c.handle.Unlock()
}

func (c *client) write(w *Worker) {
	w.Asks()
	c.handle.Lock()
	w.Enter()
	next := c.data[0].Load() + 1
	c.data[0].StoreRelease(next)
	c.data[1].StoreRelease(next)
	w.Leave()
	c.handle.Unlock()
}

func (c *client) read(w *Worker, h harness.OptimisticReader) {
	for {
		version := h.ReadBegin()
		a, b := c.data[0].Load(), c.data[1].Load()
		if h.ReadRetry(version) {
			continue
		}
		if a != b {
			w.Fail(fmt.Errorf("%w: worker %d read %d and %d", ErrRead, w.id, a, b))
		}
		return
	}
}
