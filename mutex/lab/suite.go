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
	blocking("spin-then-park", "for study: polls for as long as a wake-up would take, then sleeps",
		"Karlin et al. 1991", notJudged, harness.Traits{Handles: true},
		handles(mutex.NewSpinPark)),
	blocking("mcs-park", "for study: the queue of MCS with waiters that sleep at once",
		"Mellor-Crummey & Scott 1991", notJudged, harness.Traits{Handles: true, FIFO: true},
		handles(mutex.NewMCSPark)),

	rwMutex,
	blocking("rw-mutex", "used like sync-rwmutex: after collisions readers count themselves in a slot for each processor",
		"Dice & Kogan 2019; percpu_rw_semaphore", harness.Composed, harness.Traits{Bounded: true, ReadWrite: true},
		func(harness.Setup) harness.Local { return harness.Shared(new(mutex.RWMutex)) }),
	spin("phase-fair", "phases of readers and phases of one writer alternate, by four counters",
		"Brandenburg & Anderson 2010", harness.Traits{Bounded: true, ReadWrite: true},
		func(o mutex.Options) sync.Locker { return &mutex.PhaseFair{Wait: o.Wait, Pin: o.Pin} }),
	blocking("bravo", "sync.RWMutex, which readers bypass by a word of their own while no writer comes",
		"Dice & Kogan 2019", notJudged, harness.Traits{Handles: true, Bounded: true, ReadWrite: true},
		handles(func(workers int, o mutex.Options) *mutex.BRAVO { return mutex.NewBRAVO(workers, new(sync.RWMutex), o) })),
	rbMutex,
	spin("seqlock", "a version number; readers write nothing, and read again if it has changed",
		"Lameter 2005, Boehm 2012", harness.Traits{ReadWrite: true},
		func(o mutex.Options) sync.Locker { return &mutex.SeqLock{Wait: o.Wait, Pin: o.Pin} }),

	busted("busted-tas", "sees that the lock is free, and takes it later without a check",
		harness.Traits{}, func() sync.Locker { return new(lateTaker) }),
	busted("busted-handoff", "now and then a waiter gets the lock before its holder has left",
		harness.Traits{}, func() sync.Locker { return new(impatient) }),
	busted("busted-fifo", "claims the order of arrival and serves the last one first",
		harness.Traits{FIFO: true}, func() sync.Locker { return new(stack) }),
	busted("busted-rw", "writers do not wait for the readers inside",
		harness.Traits{ReadWrite: true}, func() sync.Locker { return new(rude) }),
}

// notJudged is the Complexity of locks for study.
const notJudged = harness.Complexity(0)

func blocking(name, doc, paper string, complexity harness.Complexity, traits harness.Traits, local func(harness.Setup) harness.Local) *harness.Variant {
	return &harness.Variant{Name: name, Doc: doc, Paper: paper, Family: harness.Blocking, Complexity: complexity, Traits: traits, Local: local}
}

func spin(name, doc, paper string, traits harness.Traits, create func(mutex.Options) sync.Locker) *harness.Variant {
	traits.FollowsWait = true
	return &harness.Variant{Name: name, Doc: doc, Paper: paper, Family: harness.Spin, Traits: traits,
		Local: func(s harness.Setup) harness.Local { return harness.Shared(create(options(s))) }}
}

func handles[H sync.Locker, L interface{ Worker(i int) H }](create func(workers int, o mutex.Options) L) func(harness.Setup) harness.Local {
	return func(s harness.Setup) harness.Local { return harness.Handles(create(s.Workers, options(s))) }
}

func options(s harness.Setup) mutex.Options {
	return mutex.Options{Wait: mutex.WaitPolicy(s.Wait), Pin: mutex.Pin(s.Pin)}
}
