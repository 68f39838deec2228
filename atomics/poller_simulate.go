//go:build systematic && simulate

package atomics

import "sync/atomic"

// A Poller performs a whole PollWhile of w, v and n (1 to 64), with the results of the loads
// and hints under a [Scheduler]. A model need not return to the goroutine between two polls.
type Poller func(w Word, v uint64, n int) (last uint64, found int)

var poller atomic.Pointer[Poller]

// SetPoller makes p perform the polls of all words, in every goroutine of the process,
// until restore brings the previous poller back. With a nil p they are loads and hints.
// Set and restore it while no goroutine uses a word.
func SetPoller(p Poller) (restore func()) {
	next := &p
	if p == nil {
		next = nil
	}
	before := poller.Swap(next)
	return func() { poller.Store(before) }
}

func poll(w Word, v uint64, n int) (last uint64, found int, ok bool) {
	p := poller.Load()
	if p == nil {
		return 0, 0, false
	}
	last, found = (*p)(w, v, n)
	return last, found, true
}
