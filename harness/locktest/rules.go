package locktest

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"locklab/harness"
)

// Rules lists every promise; rules that others depend on come first.
var Rules = []Rule{
	livenessRule,
	{Name: "exclusion", Applies: all, check: exclusion,
		Why: "between Lock and Unlock no other worker is inside"},
	{Name: "first-use", Applies: isLocal, check: firstUse,
		Why: "only one of two workers gets in that take a new lock at the same moment"},
	{Name: "lost-update", Applies: all, check: lostUpdate, plain: true,
		Why: "the next holder reads after Lock all that the last one wrote before Unlock"},
	{Name: "reuse", Applies: all, check: reuse,
		Why: "a worker can take the lock again after it has released it, in any order with others"},
	{Name: "try", Applies: all, check: checkTry,
		Why: "TryLock takes a free lock, refuses a held one without waiting, and leaves nothing behind"},
	{Name: "preemption", Applies: isLocal, check: preemption,
		Why: "no other worker gets in while holders and waiters are preempted, garbage is collected and GOMAXPROCS changes"},
	{Name: "contenders", Applies: all, check: contenders, waits: true, once: true,
		Why: "any number of workers may wait, and each gets the lock even if no other comes after it"},
	{Name: "wake-up", Applies: all, check: either(wakeUpLocal, wakeUpRemote), waits: true, once: true,
		Why: "a release wakes a waiter that sleeps, however long it has slept, even if no other worker comes"},
	{Name: "endurance", Applies: all, check: either(enduranceLocal, enduranceRemote), waits: true, once: true,
		Why: "a lock works after long use as it does when new"},
	{Name: "claims", Applies: all, check: checkClaims,
		Why: "a variant claims Traits.ReadWrite exactly if its handles or sessions have readers"},
	{Name: "wait-policy", Applies: func(v *harness.Variant) bool { return v.Traits.FollowsWait }, check: waitPolicy, once: true,
		Why: "the variant claims Traits.FollowsWait: a waiter follows Setup.Wait between two polls"},
	{Name: "fifo", Applies: func(v *harness.Variant) bool { return v.Traits.FIFO }, check: fifo,
		Why: "the variant claims Traits.FIFO: the lock is granted in the order of arrival"},
	{Name: "starvation", Applies: func(v *harness.Variant) bool { return v.Traits.FIFO || v.Traits.Bounded }, check: starvation, once: true,
		Why: "the variant claims Traits.FIFO or Bounded: no worker waits while the others acquire the lock again and again"},
	{Name: "permits", Applies: func(v *harness.Variant) bool { return v.Traits.Permits > 1 }, check: checkPermits,
		Why: "the variant claims Traits.Permits: that number of workers hold the lock together, and never one more"},
	{Name: "reentrant", Applies: func(v *harness.Variant) bool { return v.Traits.Reentrant }, check: checkReentrant,
		Why: "the variant claims Traits.Reentrant: its owner may take it again, and others stay out until it has freed it as often"},
	{Name: "not-reentrant", Applies: func(v *harness.Variant) bool { return isLocal(v) && !v.Traits.Reentrant }, check: notReentrant,
		Why: "a local variant that does not claim Traits.Reentrant: its holder waits if it asks again, and no reader becomes a writer"},
	{Name: "no-allocation", Applies: func(v *harness.Variant) bool { return isLocal(v) && !v.Traits.Allocates }, check: noAllocation,
		Why: "a local variant that does not claim Traits.Allocates: no operation allocates memory"},
	{Name: "read-exclusion", Applies: isReadWrite, check: readExclusion,
		Why: "the variant claims Traits.ReadWrite: while a reader is inside no writer is, and while a writer is inside no reader"},
	{Name: "read-count", Applies: isReadWrite, check: readCount, once: true,
		Why: "the variant claims Traits.ReadWrite: a writer waits for every reader, however many there are"},
	{Name: "read-snapshot", Applies: func(v *harness.Variant) bool { return isReadWrite(v) && isLocal(v) }, check: readSnapshot, plain: true,
		Why: "the variant claims Traits.ReadWrite: a reader reads the data of one writer, never a mix"},
	{Name: "readers-share", Applies: isReadWrite, check: readersShare,
		Why: "the variant claims Traits.ReadWrite: a reader does not wait for other readers"},
	{Name: "writer-progress", Applies: func(v *harness.Variant) bool { return isReadWrite(v) && (isLocal(v) || v.Traits.FIFO) }, check: writerProgress,
		Why: "the variant claims Traits.ReadWrite, and FIFO if it is distributed: a writer gets in although readers follow each other without a gap"},
	{Name: "cancel", Applies: isRemote, check: checkCancel,
		Why: "a waiter whose context ends gives up with the context's error and leaves nothing that blocks others"},
	{Name: "cancel-many", Applies: isRemote, check: cancelMany, once: true,
		Why: "any number of waiters may give up, at any moment, and leave nothing that blocks others or lets one more in"},
	{Name: "read-cancel", Applies: isRemoteReadWrite, check: checkReadCancel,
		Why: "the variant claims Traits.ReadWrite: a reader or writer whose context ends leaves nothing that blocks readers or writers"},
	{Name: "read-lease", Applies: isRemoteReadWrite, check: checkReadLease,
		Why: "the variant claims Traits.ReadWrite: a reader's lease releases its own hold, once, and no other reader's or writer's"},
	{Name: "owner", Applies: isRemote, check: checkOwner,
		Why: "only the lease that holds the lock can release it; any other Unlock wraps ErrNotHeld and changes nothing"},
	{Name: "unlock-cancelled", Applies: isRemote, check: unlockCancelled,
		Why: "Unlock releases the lock even if its context has ended"},
	{Name: "lease", Applies: isRemote, check: checkLease,
		Why: "Done, Err and Deadline of a lease report whether it holds the lock, and why it ended"},
	{Name: "fencing", Applies: func(v *harness.Variant) bool { return v.Traits.Fenced }, check: fencing,
		Why: "the variant claims Traits.Fenced: tokens rise strictly in holding order; readers that share may have equal ones"},
	{Name: "close", Applies: isRemote, check: closes,
		Why: "closing a session leaves the others working, and closing a client ends every goroutine it started"},
}

// livenessRule has a name since any check may find a lock stuck.
var livenessRule = Rule{Name: "liveness", Applies: all, check: liveness,
	Why: "every waiter gets the lock in the end"}

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

func (r Rule) excuse(v *harness.Variant, err error) (known string, rest error) {
	why := v.MayStick[r.Name]
	if why == "" || !onlyStuck(err) {
		return "", err
	}
	return fmt.Sprintf("known of this lock: %s: %v", why, err), nil
}

func onlyStuck(err error) bool {
	switch e := err.(type) {
	case nil:
		return false
	case *stuckError:
		return true
	case interface{ Unwrap() error }:
		return onlyStuck(e.Unwrap())
	case interface{ Unwrap() []error }:
		return !slices.ContainsFunc(e.Unwrap(), func(err error) bool { return !onlyStuck(err) })
	}
	return err == errNoGrant
}

func validateMayStick(suite []*harness.Variant) error {
	var errs []error
	for _, v := range suite {
		for name := range v.MayStick {
			i := slices.IndexFunc(Rules, func(r Rule) bool { return r.Name == name })
			if i < 0 || !Rules[i].Applies(v) {
				errs = append(errs, fmt.Errorf("%s: MayStick names %q, which is no rule for it", v.Name, name))
			}
		}
	}
	return errors.Join(errs...)
}
