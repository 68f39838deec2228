package lab

import (
	"sync"

	"locklab/atomics"
	"locklab/harness"
	"locklab/internal/waiting"
	"locklab/spinlock"
)

var bakery = spin("bakery", "each worker draws a number above all others', by loads and stores only",
	"Lamport 1974", notJudged, harness.Traits{Handles: true, FIFO: true, Doorway: true},
	func(s harness.Setup) harness.Local { return newBakery(s, true) })

var bakeryNoFence = withoutFence(spin("bakery-nofence", "bakery without its fences: the store buffer hides the numbers",
	"Lamport 1974", notJudged, harness.Traits{Handles: true, FIFO: true, Doorway: true},
	func(s harness.Setup) harness.Local { return newBakery(s, false) }))

// bakeryLock is Lamport's bakery: an arrival reads the numbers of all others and takes one
// that is greater; then it waits for all whose number is smaller. Two workers may draw the
// same number; the lower worker goes first.
//
// # Trade-offs
//
// Like [Peterson's lock] it needs no instruction that changes a word depending on its value,
// and it serves any number of workers in order of arrival. But each acquisition reads a word
// or two of every worker, with or without contention. Workers are served in the order in which
// they leave the doorway, the part that draws a number with a load for every worker. A worker
// that loses its processor in the doorway is overtaken. With four workers on two shared
// processors, one acquisition too many passed in up to 0.03 % of waits, and more than one in
// 0.001 % (go test ./spinlock/lab -run '^$' -bench Doorway).
//
// # Memory ordering
//
// Two stores must be visible before the loads that follow: the store of choosing, before the
// worker reads the numbers, and the store of its number, before it reads the other workers'
// words. Both are a Store, an XCHG on amd64; bakery-nofence makes them release stores.
//
// The numbers have 64 bits, and would wrap after centuries of contention.
//
// # References
//
// Leslie Lamport, "A New Solution of Dijkstra's Concurrent Programming Problem",
// Communications of the ACM 17(8), August 1974, pages 453-455. DOI 10.1145/361082.361093.
//
// [Peterson's lock]: https://doi.org/10.1016/0020-0190(81)90106-X
type bakeryLock struct {
	options spinlock.Options
	fence   bool
	workers []bakeryWorker
}

type bakeryWorker struct {
	lock     *bakeryLock
	id       int
	_        atomics.CacheLinePad
	choosing atomics.Uint32
	number   atomics.Uint64 // 0 if this worker does not want the lock
	_        atomics.CacheLinePad
}

func newBakery(s harness.Setup, fence bool) *bakeryLock {
	l := &bakeryLock{options: options(s), fence: fence, workers: make([]bakeryWorker, s.Workers)}
	for i := range l.workers {
		l.workers[i].lock, l.workers[i].id = l, i
	}
	return l
}

// Worker returns the handle of worker i.
func (l *bakeryLock) Worker(i int) sync.Locker { return &l.workers[i] }

func (h *bakeryWorker) Lock() {
	// As in petersonLock, nothing slow comes between the stores and the loads.
	w := waiting.New(h.lock.options.Wait, h.lock.options.Pin)
	mine := h.draw()
	for i := range h.lock.workers {
		if i != h.id {
			h.await(i, mine, w)
		}
	}
}

// draw takes a number greater than every number that it reads.
func (h *bakeryWorker) draw() uint64 {
	l := h.lock
	store := (*atomics.Uint32).Store
	if !l.fence {
		store = (*atomics.Uint32).StoreRelease
	}
	store(&h.choosing, 1)
	var greatest uint64
	for i := range l.workers {
		greatest = max(greatest, l.workers[i].number.Load())
	}
	h.number.StoreRelease(greatest + 1)
	store(&h.choosing, 0)
	return greatest + 1
}

func (h *bakeryWorker) await(i int, mine uint64, w waiting.Waiter) {
	other := &h.lock.workers[i]
	for choosing := other.choosing.Load(); choosing != 0; {
		choosing = w.While(&other.choosing, choosing)
	}
	for n := other.number.Load(); n != 0 && (n < mine || n == mine && i < h.id); {
		n = w.While64(&other.number, n)
	}
}

func (h *bakeryWorker) Unlock() { h.number.StoreRelease(0) }
