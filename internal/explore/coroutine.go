//go:build systematic

package explore

import (
	"fmt"
	"iter"
)

// A coroutine runs one body after another on its own goroutine, which never runs at the same time
// as its resumer. A switch costs a fifth of a goroutine switch, and a grown stack is kept.
type coroutine struct {
	body     func()
	finished bool
	next     func() (struct{}, bool)
	stop     func()
	yield    func(struct{}) bool
}

func newCoroutine() *coroutine {
	c := &coroutine{}
	c.next, c.stop = iter.Pull(func(yield func(struct{}) bool) {
		c.yield = yield
		for more := true; more; more = yield(struct{}{}) {
			c.body()
			c.finished = true
		}
	})
	return c
}

// resume runs the body until it suspends, and reports whether it has returned.
func (c *coroutine) resume() (finished bool) {
	c.finished = false
	c.next()
	return c.finished
}

func (c *coroutine) suspend() { c.yield(struct{}{}) }

type unwind struct{}

func (e *explorer) coroutine(i int) *coroutine {
	for len(e.coroutines) <= i {
		e.coroutines = append(e.coroutines, newCoroutine())
	}
	return e.coroutines[i]
}

func (e *explorer) dismiss() {
	for _, c := range e.coroutines {
		c.stop()
	}
}

func (w *Worker) body(do func(*Worker)) {
	defer func() {
		switch p := recover(); p.(type) {
		case nil, unwind:
		default:
			w.run.fail(fmt.Errorf("%w: worker %d: %v", ErrPanic, w.id, p))
		}
	}()
	do(w)
}
