//go:build systematic && simulate

package atomics

import "sync/atomic"

// A Poller does a whole PollWhile in place of its loads and hints: it polls w as long
// as it is v, at most n times, n from 1 to 64, and returns what it loaded last and how
// many of the polls found v. It must answer as the loads and hints would that a
// [Scheduler] is asked for without it; it exists because a model need not come back to
// the goroutine between two polls.
type Poller func(w Word, v uint64, n int) (last uint64, found int)

var poller atomic.Pointer[Poller]

// SetPoller makes p do the polls of all words, in every goroutine of the process,
// until restore brings the poller before back. With a nil p they are loads and hints.
// Set and restore it while no goroutine works on a word.
func SetPoller(p Poller) (restore func()) {
	next := &p
	if p == nil {
		next = nil
	}
	before := poller.Swap(next)
	return func() { poller.Store(before) }
}

// poll asks the poller, if there is one, to poll w.
func poll(w Word, v uint64, n int) (last uint64, found int, ok bool) {
	p := poller.Load()
	if p == nil {
		return 0, 0, false
	}
	last, found = (*p)(w, v, n)
	return last, found, true
}
