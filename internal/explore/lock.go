//go:build systematic

package explore

import (
	"errors"
	"fmt"
	"sync"

	"locklab/atomics"
	"locklab/harness"
)

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
