package locktest

import (
	"context"

	"locklab/harness"
)

// Rules lists every promise; rules that others depend on come first.
var Rules = []Rule{
	livenessRule,
	{
		Name:    "exclusion",
		Why:     "between Lock and Unlock no other worker is inside",
		Applies: all,
		check:   exclusion,
	},
	{
		Name:    "lost-update",
		Why:     "what the holder wrote before Unlock is what the next holder reads after Lock",
		Applies: all,
		check:   lostUpdate,
		plain:   true,
	},
	{
		Name:    "reuse",
		Why:     "a worker can take the lock again after it has released it, in any order with others",
		Applies: all,
		check:   reuse,
	},
	{
		Name:    "try",
		Why:     "TryLock takes a free lock, refuses a held one without waiting, and leaves nothing behind",
		Applies: all,
		check:   checkTry,
	},
	{
		Name:    "preemption",
		Why:     "no other worker gets in while holders and waiters are preempted, garbage is collected and GOMAXPROCS changes",
		Applies: isLocal,
		check:   preemption,
	},
	{
		Name:    "contenders",
		Why:     "any number of workers may wait, and each gets the lock though no other comes after it",
		Applies: all,
		check:   contenders,
		waits:   true,
		once:    true,
	},
	{
		Name:    "wake-up",
		Why:     "a release wakes a waiter that sleeps, however long it has slept and though no other worker comes",
		Applies: all,
		check:   either(wakeUpLocal, wakeUpRemote),
		waits:   true,
		once:    true,
	},
	{
		Name:    "endurance",
		Why:     "a lock that has been used for long is as good as a new one",
		Applies: all,
		check:   either(enduranceLocal, enduranceRemote),
		waits:   true,
		once:    true,
	},
	{
		Name:    "claims",
		Why:     "a variant claims Traits.ReadWrite exactly if its handles or sessions have readers",
		Applies: all,
		check:   checkClaims,
	},
	{
		Name:    "wait-policy",
		Why:     "the variant claims Traits.FollowsWait: a waiter does between two polls what Setup.Wait says",
		Applies: followsWait,
		check:   waitPolicy,
		once:    true,
	},
	{
		Name:    "fifo",
		Why:     "the variant claims Traits.FIFO: the lock is granted in the order of arrival",
		Applies: func(v *harness.Variant) bool { return v.Traits.FIFO },
		check:   either(fifoLocal, fifoRemote),
	},
	{
		Name:    "starvation",
		Why:     "the variant claims Traits.FIFO or Bounded: no worker waits while the others acquire the lock again and again",
		Applies: func(v *harness.Variant) bool { return v.Traits.FIFO || v.Traits.Bounded },
		check:   starvation,
		once:    true,
	},
	{
		Name:    "permits",
		Why:     "the variant claims Traits.Permits: so many hold the lock together, and never one more",
		Applies: hasPermits,
		check:   checkPermits,
	},
	{
		Name:    "reentrant",
		Why:     "the variant claims Traits.Reentrant: its owner may take it again, and others stay out until it has freed it as often",
		Applies: func(v *harness.Variant) bool { return v.Traits.Reentrant },
		check:   checkReentrant,
	},
	{
		Name:    "not-reentrant",
		Why:     "a local variant that does not claim Traits.Reentrant: its holder waits if it asks again, and no reader becomes a writer",
		Applies: func(v *harness.Variant) bool { return isLocal(v) && !v.Traits.Reentrant },
		check:   notReentrant,
	},
	{
		Name:    "no-allocation",
		Why:     "a local variant that does not claim Traits.Allocates: no operation allocates memory",
		Applies: func(v *harness.Variant) bool { return isLocal(v) && !v.Traits.Allocates },
		check:   noAllocation,
	},
	{
		Name:    "read-exclusion",
		Why:     "the variant claims Traits.ReadWrite: while a reader is inside no writer is, and while a writer is inside no reader",
		Applies: isReadWrite,
		check:   readExclusion,
	},
	{
		Name:    "read-count",
		Why:     "the variant claims Traits.ReadWrite: a writer waits for every reader, however many there are",
		Applies: isReadWrite,
		check:   readCount,
		once:    true,
	},
	{
		Name:    "read-snapshot",
		Why:     "the variant claims Traits.ReadWrite: what a reader has read is what one writer left",
		Applies: func(v *harness.Variant) bool { return isReadWrite(v) && isLocal(v) },
		check:   readSnapshot,
		plain:   true,
	},
	{
		Name:    "readers-share",
		Why:     "the variant claims Traits.ReadWrite: a reader does not wait for other readers",
		Applies: isReadWrite,
		check:   readersShare,
	},
	{
		Name:    "writer-progress",
		Why:     "the variant claims Traits.ReadWrite, and FIFO if it is kept by servers: a writer gets in although readers follow each other without a gap",
		Applies: func(v *harness.Variant) bool { return isReadWrite(v) && (isLocal(v) || v.Traits.FIFO) },
		check:   writerProgress,
	},
	{
		Name:    "cancel",
		Why:     "a waiter whose context ends gives up with the context's error and leaves nothing that blocks others",
		Applies: isRemote,
		check:   checkCancel,
	},
	{
		Name:    "cancel-many",
		Why:     "any number of waiters may give up, at any moment, and leave nothing that blocks others or lets one more in",
		Applies: isRemote,
		check:   cancelMany,
		once:    true,
	},
	{
		Name:    "read-cancel",
		Why:     "the variant claims Traits.ReadWrite: a reader or writer whose context ends leaves nothing that blocks readers or writers",
		Applies: isRemoteReadWrite,
		check:   ifReaders(checkReadCancel),
	},
	{
		Name:    "read-lease",
		Why:     "the variant claims Traits.ReadWrite: a reader's lease releases its own hold, once, and no other reader's or writer's",
		Applies: isRemoteReadWrite,
		check:   ifReaders(checkReadLease),
	},
	{
		Name:    "owner",
		Why:     "only the lease that holds the lock can release it; any other Unlock wraps ErrNotHeld and changes nothing",
		Applies: isRemote,
		check:   checkOwner,
	},
	{
		Name:    "unlock-cancelled",
		Why:     "Unlock releases the lock even if its context has ended",
		Applies: isRemote,
		check:   unlockCancelled,
	},
	{
		Name:    "lease",
		Why:     "Done, Err and Deadline of a lease say whether it holds the lock, and why it ended",
		Applies: isRemote,
		check:   checkLease,
	},
	{
		Name:    "fencing",
		Why:     "the variant claims Traits.Fenced: tokens rise strictly in holding order; readers that share may have equal ones",
		Applies: func(v *harness.Variant) bool { return v.Traits.Fenced },
		check:   fencing,
	},
	{
		Name:    "close",
		Why:     "closing a session leaves the others working, and closing a client ends every goroutine it started",
		Applies: isRemote,
		check:   closes,
	},
}

// livenessRule has a name since any check may find a lock stuck.
var livenessRule = Rule{
	Name:    "liveness",
	Why:     "every waiter gets the lock in the end",
	Applies: all,
	check:   liveness,
}

func all(*harness.Variant) bool        { return true }
func isLocal(v *harness.Variant) bool  { return v.Local != nil }
func isRemote(v *harness.Variant) bool { return v.Remote != nil }

func isRemoteReadWrite(v *harness.Variant) bool { return isRemote(v) && isReadWrite(v) }

func either(local, remote func(context.Context, Subject)) func(context.Context, Subject) {
	return func(ctx context.Context, s Subject) {
		if isLocal(s.Variant) {
			local(ctx, s)
			return
		}
		remote(ctx, s)
	}
}
