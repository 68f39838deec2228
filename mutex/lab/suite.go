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
	blocking("chan", "a channel with capacity one: the sender holds the lock",
		"Go memory model 2022", notJudged, harness.Traits{FIFO: true},
		func(harness.Setup) harness.Local { return harness.Shared(mutex.NewChan()) }),
	syncMutex,
	blocking("mutex", "used like sync-mutex: running workers go first, but at times the longest waiter is handed the lock",
		"nsync; parking_lot", harness.Queued, harness.Traits{Bounded: true},
		func(harness.Setup) harness.Local { return harness.Shared(new(mutex.Mutex)) }),
	weighted,
	{
		Name:        "futex",
		Doc:         "a word in user space, and a system call to sleep on it: what C programs lock with",
		Paper:       "Drepper 2011, Futexes Are Tricky",
		Family:      harness.Blocking,
		Unavailable: futexUnavailable,
		Local:       newFutex,
	},
	blocking("spin-then-park", "polls for as long as a wake-up would take, then sleeps",
		"Karlin et al. 1991", notJudged, harness.Traits{Handles: true},
		func(s harness.Setup) harness.Local {
			return harness.Handles(mutex.NewSpinPark(s.Workers, options(s)))
		}),
	blocking("mcs-park", "the queue of MCS with waiters that sleep at once",
		"Mellor-Crummey & Scott 1991", notJudged, harness.Traits{Handles: true, FIFO: true},
		func(s harness.Setup) harness.Local {
			return harness.Handles(mutex.NewMCSPark(s.Workers, options(s)))
		}),

	rwMutex,
	blocking("rw-mutex", "used like sync-rwmutex: after collisions readers count themselves in a slot for each processor",
		"Dice & Kogan 2019; percpu_rw_semaphore", harness.Composed, harness.Traits{Bounded: true, ReadWrite: true},
		func(harness.Setup) harness.Local { return harness.Shared(new(mutex.RWMutex)) }),
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
	blocking("bravo", "sync.RWMutex, which readers bypass by a word of their own while no writer comes",
		"Dice & Kogan 2019", notJudged, harness.Traits{Handles: true, Bounded: true, ReadWrite: true},
		func(s harness.Setup) harness.Local {
			return harness.Handles(mutex.NewBRAVO(s.Workers, new(sync.RWMutex), options(s)))
		}),
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

// notJudged is the Complexity of locks for study.
const notJudged = harness.Complexity(0)

func blocking(name, doc, paper string, complexity harness.Complexity, traits harness.Traits, local func(harness.Setup) harness.Local) *harness.Variant {
	return &harness.Variant{Name: name, Doc: doc, Paper: paper, Family: harness.Blocking, Complexity: complexity, Traits: traits, Local: local}
}

func options(s harness.Setup) mutex.Options {
	return mutex.Options{Wait: mutex.WaitPolicy(s.Wait), Pin: mutex.Pin(s.Pin)}
}
