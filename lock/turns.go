package lock

import (
	"container/list"
	"context"
	"sync"
)

// Turns is the local queue of a cohort lock. The goroutines of one client wait in it, in
// order of arrival, for values of type G. Meanwhile at most one of them holds the lock, or one
// request to the servers stands for all of them. The zero value is an idle queue.
//
// The queue is busy from Join, Try or Next until Next finds no waiter. The methods may call
// start and offer while they lock the queue, so these must not use it.
type Turns[G any] struct {
	mu     sync.Mutex
	busy   bool
	line   list.List          // of *Waiter[G]; busy if there are any
	recall context.CancelFunc // of the latest request; nil before the first
}

// A Waiter is a place in Turns. Got receives at most one value.
type Waiter[G any] struct {
	Got   chan G
	place *list.Element // nil once it was served
}

// Join appends a waiter. If the queue is idle it calls start, which returns false if it cannot
// ask the servers. ahead is the number of waiters before this one, or -1 if the queue was idle.
func (t *Turns[G]) Join(start func() bool) (w *Waiter[G], ahead int) {
	w = &Waiter[G]{Got: make(chan G, 1)}
	t.mu.Lock()
	defer t.mu.Unlock()
	ahead = t.line.Len()
	w.place = t.line.PushBack(w)
	if !t.busy {
		t.busy = start()
		ahead = -1
	}
	return w, ahead
}

// Await returns the value of w, or false if ctx or open ends before: then w has left.
func (t *Turns[G]) Await(ctx, open context.Context, w *Waiter[G]) (g G, served bool) {
	select {
	case g := <-w.Got:
		return g, true
	case <-ctx.Done():
	case <-open.Done():
	}
	return t.Leave(w) // it may have been served meanwhile
}

// Leave removes w. If w was served and has not received its value, Leave returns the value
// and true. The last waiter that leaves recalls the request.
func (t *Turns[G]) Leave(w *Waiter[G]) (g G, served bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if w.place == nil {
		return <-w.Got, true
	}
	t.line.Remove(w.place)
	if t.line.Len() == 0 && t.recall != nil {
		t.recall()
	}
	return g, false
}

// Try makes an idle queue busy, and returns false if it is busy already.
func (t *Turns[G]) Try() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.busy {
		return false
	}
	t.busy = true
	return true
}

// Request asks the servers for the waiters: it calls fetch, whose context ends with open or when
// the last of them leaves. If fetch fails, all waiters get the value of failed, unless its context
// has ended: then they came later. Without waiters it makes the queue idle and returns false.
func (t *Turns[G]) Request(open context.Context, fetch func(context.Context) error, failed func(error) G) bool {
	ctx, recall := context.WithCancel(open)
	defer recall()
	t.mu.Lock()
	if t.busy = t.line.Len() > 0; !t.busy {
		t.mu.Unlock()
		return false
	}
	t.recall = recall
	t.mu.Unlock()
	err := fetch(ctx)
	t.mu.Lock()
	defer t.mu.Unlock()
	for err != nil && ctx.Err() == nil && t.line.Len() > 0 {
		t.serve(failed(err))
	}
	return true
}

// The caller holds t.mu.
func (t *Turns[G]) serve(g G) {
	w := t.line.Remove(t.line.Front()).(*Waiter[G])
	w.place = nil
	w.Got <- g
}

// Serve gives the first waiter the value of offer, and returns false if there is neither.
func (t *Turns[G]) Serve(offer func() (G, bool)) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.line.Len() == 0 {
		return false
	}
	g, ok := offer()
	if ok {
		t.serve(g)
	}
	return ok
}

// Next calls start if there are waiters. Otherwise the queue is idle.
func (t *Turns[G]) Next(start func() bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.busy = t.line.Len() > 0 && start()
}

// Len returns the number of waiters.
func (t *Turns[G]) Len() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.line.Len()
}
