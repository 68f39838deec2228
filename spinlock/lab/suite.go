package lab

import (
	"slices"

	"locklab/harness"
	"locklab/spinlock"
)

// Suite lists the locks of package spinlock and of this package, simplest first.
var Suite = []*harness.Variant{
	{
		Name:   "tas",
		Doc:    "test-and-set: every poll is a compare-and-swap",
		Paper:  "Anderson 1990",
		Family: harness.Spin,
		Traits: harness.Traits{FollowsWait: true},
		Local: func(s harness.Setup) harness.Local {
			o := options(s)
			return harness.Shared(&spinlock.TAS{Wait: o.Wait, Pin: o.Pin})
		},
	},
	{
		Name:   "tas-xchg",
		Doc:    "test-and-set: every poll is an unconditional swap",
		Paper:  "Anderson 1990",
		Family: harness.Spin,
		Traits: harness.Traits{FollowsWait: true},
		Local: func(s harness.Setup) harness.Local {
			o := options(s)
			return harness.Shared(&spinlock.ExchangeTAS{Wait: o.Wait, Pin: o.Pin})
		},
	},
	{
		Name:   "ttas",
		Doc:    "test-and-test-and-set: waiters read, and swap only when the lock seems free",
		Paper:  "Rudolph & Segall 1984",
		Family: harness.Spin,
		Traits: harness.Traits{FollowsWait: true},
		Local: func(s harness.Setup) harness.Local {
			o := options(s)
			return harness.Shared(&spinlock.TTAS{Wait: o.Wait, Pin: o.Pin})
		},
	},
	{
		Name:       "ttas-backoff",
		Doc:        "test-and-test-and-set; after a failure a waiter stays away for a random time that doubles",
		Paper:      "Anderson 1990",
		Family:     harness.Spin,
		Complexity: harness.Single,
		Traits:     harness.Traits{FollowsWait: true},
		Local: func(s harness.Setup) harness.Local {
			o := options(s)
			return harness.Shared(&spinlock.Backoff{Wait: o.Wait, Pin: o.Pin})
		},
	},
	{
		Name:   "ticket",
		Doc:    "a counter hands out numbers, a second one says which of them holds the lock",
		Paper:  "Reed & Kanodia 1979",
		Family: harness.Spin,
		Traits: harness.Traits{FIFO: true, FollowsWait: true},
		Local: func(s harness.Setup) harness.Local {
			return harness.Shared(spinlock.NewTicket(s.Workers, options(s)))
		},
	},
	{
		Name:   "ticket-prop",
		Doc:    "a ticket lock whose waiters stay away the longer, the more are before them",
		Paper:  "Mellor-Crummey & Scott 1991",
		Family: harness.Spin,
		Traits: harness.Traits{FIFO: true, FollowsWait: true},
		Local: func(s harness.Setup) harness.Local {
			return harness.Shared(spinlock.NewProportionalTicket(s.Workers, options(s)))
		},
	},
	{
		Name:   "twa",
		Doc:    "a ticket lock of which only the next in line polls the lock, the others an array",
		Paper:  "Dice & Kogan 2019",
		Family: harness.Spin,
		Traits: harness.Traits{FIFO: true, FollowsWait: true},
		Local: func(s harness.Setup) harness.Local {
			// A separate array, so that locks measured together share nothing.
			array := spinlock.NewWaitingArray(min(16*s.Workers, twaSlots))
			return harness.Shared(spinlock.NewTWA(s.Workers, array, options(s)))
		},
	},
	{
		Name:   "anderson",
		Doc:    "a ticket lock in which every number polls a word of its own, in an array",
		Paper:  "Anderson 1990",
		Family: harness.Spin,
		Traits: harness.Traits{FIFO: true, FollowsWait: true},
		Local: func(s harness.Setup) harness.Local {
			return harness.Shared(spinlock.NewAnderson(s.Workers, options(s)))
		},
	},
	{
		Name:       "mcs",
		Doc:        "a linked queue in which every waiter polls its own node",
		Paper:      "Mellor-Crummey & Scott 1991",
		Family:     harness.Spin,
		Complexity: harness.Queued,
		Traits:     harness.Traits{Handles: true, FIFO: true, FollowsWait: true},
		Local: func(s harness.Setup) harness.Local {
			return harness.Handles(spinlock.NewMCS(s.Workers, options(s)))
		},
	},
	{
		Name:   "k42",
		Doc:    "an mcs queue of waiters only: the holder leaves it and keeps no node",
		Paper:  "Auslander et al. 2003",
		Family: harness.Spin,
		Traits: harness.Traits{Handles: true, FIFO: true, FollowsWait: true},
		Local: func(s harness.Setup) harness.Local {
			return harness.Handles(spinlock.NewK42(s.Workers, options(s)))
		},
	},
	{
		Name:       "clh",
		Doc:        "an implicit queue in which every waiter polls its predecessor's node",
		Paper:      "Craig 1993",
		Family:     harness.Spin,
		Complexity: harness.Queued,
		Traits:     harness.Traits{Handles: true, FIFO: true, FollowsWait: true},
		Local: func(s harness.Setup) harness.Local {
			return harness.Handles(spinlock.NewCLH(s.Workers, options(s)))
		},
	},
	{
		Name:   "hapax",
		Doc:    "a queue of values that occur once: arrivals swap theirs in and wait for the one before to depart",
		Paper:  "Dice & Kogan 2025",
		Family: harness.Spin,
		Traits: harness.Traits{Handles: true, FIFO: true, FollowsWait: true},
		Local: func(s harness.Setup) harness.Local {
			// A separate space, so that locks measured together share nothing.
			return harness.Handles(spinlock.NewHapax(s.Workers, spinlock.NewHapaxSpace(4*s.Workers), options(s)))
		},
	},
	{
		Name:   "hemlock",
		Doc:    "a queue without nodes: one word a lock, one word a worker",
		Paper:  "Dice & Kogan 2021",
		Family: harness.Spin,
		Traits: harness.Traits{Handles: true, FIFO: true, FollowsWait: true},
		Local: func(s harness.Setup) harness.Local {
			return harness.Handles(spinlock.NewHemlock(s.Workers, options(s)))
		},
	},
	reciprocating,
	{
		Name:   "malthusian",
		Doc:    "an mcs queue that sets surplus waiters aside, and lets them back in now and then",
		Paper:  "Dice 2017",
		Family: harness.Spin,
		Traits: harness.Traits{Handles: true, Bounded: true, FollowsWait: true},
		Local: func(s harness.Setup) harness.Local {
			return harness.Handles(spinlock.NewMalthusian(s.Workers, options(s)))
		},
	},
	{
		Name:   "fissile",
		Doc:    "a test-and-set word for arrivals, which may pass the first of an mcs queue until it loses patience",
		Paper:  "Dice & Kogan 2020",
		Family: harness.Spin,
		Traits: harness.Traits{Handles: true, Bounded: true, FollowsWait: true},
		Local: func(s harness.Setup) harness.Local {
			return harness.Handles(spinlock.NewFissile(s.Workers, options(s)))
		},
	},
	{
		Name:   "cohort",
		Doc:    "a ticket lock for each node of the machine, under one for all of them",
		Paper:  "Dice, Marathe & Shavit 2012",
		Family: harness.Spin,
		Traits: harness.Traits{Handles: true, Bounded: true, FollowsWait: true},
		Local: func(s harness.Setup) harness.Local {
			if len(s.Nodes) == 0 || slices.Min(s.Nodes) == slices.Max(s.Nodes) {
				return harness.Shared(spinlock.NewTicket(s.Workers, options(s)))
			}
			return harness.Handles(spinlock.NewCohort(s.Workers, options(s)))
		},
	},
	peterson,
	petersonNoFence,
	bakery,
	bakeryNoFence,
}

// twaSlots is the size of the array of TWA in the paper.
const twaSlots = 4096

func options(s harness.Setup) spinlock.Options {
	return spinlock.Options{Wait: spinlock.WaitPolicy(s.Wait), Pin: spinlock.Pin(s.Pin), Nodes: s.Nodes}
}
