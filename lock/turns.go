package lock

import (
	"container/list"
	"context"
	"sync"
)

// Turns is the local queue of a cohort lock. The goroutines of one client wait in it, in
// order of arrival, for values of type G, while at most one of them holds the lock, or one
// request to the servers stands for all of them. The zero value is an idle queue.
//
// The queue is busy from Join, Try or Next until Next finds no waiter. The methods may call
// start and offer while they lock the queue, so these must not use it.
type Turns[G any] struct {
	mu     sync.Mutex
	busy   bool
	line   list.List          // of *Waiter[G]; busy if there are any
	recall context.CancelFunc // not nil while a request stands for the waiters
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

// Rejoin makes a waiter that was served the first one again.
func (t *Turns[G]) Rejoin(w *Waiter[G], start func() bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	w.place = t.line.PushFront(w)
	if !t.busy {
		t.busy = start()
	}
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
	w.place = nil
	if t.line.Len() == 0 && t.recall != nil {
		t.recall()
		t.recall = nil
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

// Ask records that a request stands for the waiters: recall is called when the last of them
// leaves. Without waiters it makes the queue idle and returns false.
func (t *Turns[G]) Ask(recall context.CancelFunc) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.line.Len() == 0 {
		t.busy = false
		return false
	}
	t.recall = recall
	return true
}

// Asked records the end of a request that got no value, or one for a single waiter.
func (t *Turns[G]) Asked() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.recall = nil
}

// Serve gives the first waiter the value of offer, and returns false if there is neither.
func (t *Turns[G]) Serve(offer func() (G, bool)) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	first := t.line.Front()
	if first == nil {
		return false
	}
	g, ok := offer()
	if ok {
		w := t.line.Remove(first).(*Waiter[G])
		w.place = nil
		w.Got <- g
	}
	return ok
}

// AskedFor records the end of the request and gives g to all waiters, unless the request was
// recalled: then the waiters came later.
func (t *Turns[G]) AskedFor(g G) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for t.recall != nil && t.line.Len() > 0 {
		w := t.line.Remove(t.line.Front()).(*Waiter[G])
		w.place = nil
		w.Got <- g
	}
	t.recall = nil
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
