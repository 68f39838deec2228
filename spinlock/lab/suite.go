package lab

import (
	"slices"
	"sync"

	"locklab/harness"
	"locklab/spinlock"
)

// Suite lists the locks of package spinlock and of this package, simplest first.
var Suite = []*harness.Variant{
	spin("tas", "test-and-set: every poll is a compare-and-swap",
		"Anderson 1990", notJudged, harness.Traits{}, shared(func(_ int, o spinlock.Options) *spinlock.TAS { return &spinlock.TAS{Wait: o.Wait, Pin: o.Pin} })),
	spin("tas-xchg", "test-and-set: every poll is an unconditional swap",
		"Anderson 1990", notJudged, harness.Traits{}, shared(func(_ int, o spinlock.Options) *spinlock.ExchangeTAS {
			return &spinlock.ExchangeTAS{Wait: o.Wait, Pin: o.Pin}
		})),
	spin("ttas", "test-and-test-and-set: waiters read, and swap only when the lock seems free",
		"Rudolph & Segall 1984", notJudged, harness.Traits{}, shared(func(_ int, o spinlock.Options) *spinlock.TTAS { return &spinlock.TTAS{Wait: o.Wait, Pin: o.Pin} })),
	spin("ttas-backoff", "test-and-test-and-set; after a failure a waiter stays away for a random time that doubles",
		"Anderson 1990", harness.Single, harness.Traits{}, shared(func(_ int, o spinlock.Options) *spinlock.Backoff { return &spinlock.Backoff{Wait: o.Wait, Pin: o.Pin} })),
	spin("ticket", "a counter hands out numbers, a second one has the number of the holder",
		"Reed & Kanodia 1979", notJudged, harness.Traits{FIFO: true}, shared(spinlock.NewTicket)),
	spin("ticket-prop", "a ticket lock whose waiters stay away the longer, the more are before them",
		"Mellor-Crummey & Scott 1991", notJudged, harness.Traits{FIFO: true}, shared(spinlock.NewProportionalTicket)),
	spin("twa", "a ticket lock of which only the next in line polls the lock, the others an array",
		"Dice & Kogan 2019", notJudged, harness.Traits{FIFO: true}, shared(newTWA)),
	spin("anderson", "a ticket lock in which every number polls a word of its own, in an array",
		"Anderson 1990", notJudged, harness.Traits{FIFO: true}, shared(spinlock.NewAnderson)),
	spin("mcs", "a linked queue in which every waiter polls its own node",
		"Mellor-Crummey & Scott 1991", harness.Queued, harness.Traits{Handles: true, FIFO: true}, handles(spinlock.NewMCS)),
	spin("k42", "an mcs queue of waiters only: the holder leaves it and keeps no node",
		"Auslander et al. 2003", notJudged, harness.Traits{Handles: true, FIFO: true}, handles(spinlock.NewK42)),
	spin("clh", "an implicit queue in which every waiter polls its predecessor's node",
		"Craig 1993", harness.Queued, harness.Traits{Handles: true, FIFO: true}, handles(spinlock.NewCLH)),
	spin("hapax", "a queue of values that occur once: arrivals swap theirs in and wait for the one before to depart",
		"Dice & Kogan 2025", notJudged, harness.Traits{Handles: true, FIFO: true}, handles(newHapax)),
	spin("hemlock", "a queue without nodes: one word a lock, one word a worker",
		"Dice & Kogan 2021", notJudged, harness.Traits{Handles: true, FIFO: true}, handles(spinlock.NewHemlock)),
	reciprocating,
	spin("malthusian", "an mcs queue that sets surplus waiters aside, and lets them back in now and then",
		"Dice 2017", notJudged, harness.Traits{Handles: true, Bounded: true}, handles(spinlock.NewMalthusian)),
	spin("fissile", "a test-and-set word for arrivals, which may pass the first of an mcs queue until it loses patience",
		"Dice & Kogan 2020", notJudged, harness.Traits{Handles: true, Bounded: true}, handles(spinlock.NewFissile)),
	spin("cohort", "a ticket lock for each node of the machine, under one for all of them",
		"Dice, Marathe & Shavit 2012", notJudged, harness.Traits{Handles: true, Bounded: true}, newCohort),
	peterson,
	petersonNoFence,
	bakery,
	bakeryNoFence,
}

// notJudged is the Complexity of locks for study.
const notJudged = harness.Complexity(0)

func spin(name, doc, paper string, complexity harness.Complexity, traits harness.Traits, local func(harness.Setup) harness.Local) *harness.Variant {
	traits.FollowsWait = true
	return &harness.Variant{Name: name, Doc: doc, Paper: paper, Family: harness.Spin, Complexity: complexity, Traits: traits, Local: local}
}

func withoutFence(v *harness.Variant) *harness.Variant {
	v.Status, v.Unavailable = harness.Broken, fenced
	return v
}

func shared[L sync.Locker](create func(workers int, o spinlock.Options) L) func(harness.Setup) harness.Local {
	return func(s harness.Setup) harness.Local { return harness.Shared(create(s.Workers, options(s))) }
}

func handles[H sync.Locker, L interface{ Worker(i int) H }](create func(workers int, o spinlock.Options) L) func(harness.Setup) harness.Local {
	return func(s harness.Setup) harness.Local { return harness.Handles(create(s.Workers, options(s))) }
}

// newTWA makes a lock with a separate array: locks measured together share nothing.
func newTWA(workers int, o spinlock.Options) *spinlock.TWA {
	return spinlock.NewTWA(workers, spinlock.NewWaitingArray(min(16*workers, twaSlots)), o)
}

// newHapax makes a lock with a separate space: locks measured together share nothing.
func newHapax(workers int, o spinlock.Options) *spinlock.Hapax {
	return spinlock.NewHapax(workers, spinlock.NewHapaxSpace(4*workers), o)
}

func newCohort(s harness.Setup) harness.Local {
	if len(s.Nodes) == 0 || slices.Min(s.Nodes) == slices.Max(s.Nodes) {
		return shared(spinlock.NewTicket)(s)
	}
	return handles(spinlock.NewCohort)(s)
}

// twaSlots is the size of the array of TWA in the paper.
const twaSlots = 4096

func options(s harness.Setup) spinlock.Options {
	return spinlock.Options{Wait: spinlock.WaitPolicy(s.Wait), Pin: spinlock.Pin(s.Pin), Nodes: s.Nodes}
}
