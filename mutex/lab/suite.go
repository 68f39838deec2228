package lab

import (
	"sync"

	"locklab/harness"
	"locklab/mutex"
)

// Suite lists the locks of package mutex and of this package: the control first, then locks,
// simplest first, then locks with readers, and last the controls that are broken on purpose.
var Suite = []*harness.Variant{
	empty,
	{
		Name:   "chan",
		Doc:    "a channel with capacity one: the sender holds the lock",
		Paper:  "Go memory model 2022",
		Family: harness.Blocking,
		Traits: harness.Traits{FIFO: true},
		Local:  func(harness.Setup) harness.Local { return harness.Shared(mutex.NewChan()) },
	},
	syncMutex,
	{
		Name:       "mutex",
		Doc:        "used like sync-mutex: running workers go first, but at times the longest waiter is handed the lock",
		Paper:      "nsync; parking_lot",
		Family:     harness.Blocking,
		Complexity: harness.Queued,
		Traits:     harness.Traits{Bounded: true},
		Local:      func(harness.Setup) harness.Local { return harness.Shared(new(mutex.Mutex)) },
	},
	weighted,
	{
		Name:        "futex",
		Doc:         "a word in user space, and a system call to sleep on it: what C programs lock with",
		Paper:       "Drepper 2011, Futexes Are Tricky",
		Family:      harness.Blocking,
		Unavailable: futexUnavailable,
		Local:       newFutex,
	},
	{
		Name:   "spin-then-park",
		Doc:    "polls for as long as a wake-up would take, then sleeps",
		Paper:  "Karlin et al. 1991",
		Family: harness.Blocking,
		Traits: harness.Traits{Handles: true},
		Local: func(s harness.Setup) harness.Local {
			return harness.Handles(mutex.NewSpinPark(s.Workers, options(s)))
		},
	},
	{
		Name:   "mcs-park",
		Doc:    "the queue of MCS with waiters that sleep at once",
		Paper:  "Mellor-Crummey & Scott 1991",
		Family: harness.Blocking,
		Traits: harness.Traits{Handles: true, FIFO: true},
		Local: func(s harness.Setup) harness.Local {
			return harness.Handles(mutex.NewMCSPark(s.Workers, options(s)))
		},
	},

	rwMutex,
	{
		Name:       "rw-mutex",
		Doc:        "used like sync-rwmutex: after collisions readers count themselves in a slot for each processor",
		Paper:      "Dice & Kogan 2019; percpu_rw_semaphore",
		Family:     harness.Blocking,
		Complexity: harness.Composed,
		Traits:     harness.Traits{Bounded: true, ReadWrite: true},
		Local:      func(harness.Setup) harness.Local { return harness.Shared(new(mutex.RWMutex)) },
	},
	{
		Name:   "phase-fair",
		Doc:    "phases of readers and phases of one writer alternate, by four counters",
		Paper:  "Brandenburg & Anderson 2010",
		Family: harness.Spin,
		Traits: harness.Traits{Bounded: true, ReadWrite: true, FollowsWait: true},
		Local: func(s harness.Setup) harness.Local {
			o := options(s)
			return harness.Shared(&mutex.PhaseFair{Wait: o.Wait, Pin: o.Pin})
		},
	},
	{
		Name:   "bravo",
		Doc:    "sync.RWMutex, which readers bypass by a word of their own while no writer comes",
		Paper:  "Dice & Kogan 2019",
		Family: harness.Blocking,
		Traits: harness.Traits{Handles: true, Bounded: true, ReadWrite: true},
		Local: func(s harness.Setup) harness.Local {
			return harness.Handles(mutex.NewBRAVO(s.Workers, new(sync.RWMutex), options(s)))
		},
	},
	rbMutex,
	{
		Name:   "seqlock",
		Doc:    "a version number; readers write nothing, and read again if it has changed",
		Paper:  "Lameter 2005, Boehm 2012",
		Family: harness.Spin,
		Traits: harness.Traits{ReadWrite: true, FollowsWait: true},
		Local: func(s harness.Setup) harness.Local {
			o := options(s)
			return harness.Shared(&mutex.SeqLock{Wait: o.Wait, Pin: o.Pin})
		},
	},

	bustedTAS,
	bustedHandoff,
	bustedFIFO,
	bustedRW,
}

func options(s harness.Setup) mutex.Options {
	return mutex.Options{Wait: mutex.WaitPolicy(s.Wait), Pin: mutex.Pin(s.Pin)}
}
