//go:build !race

package locktest

import (
	"errors"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
)

// remotePatience limits the time for a lock that is stuck on purpose: see [hasty].
func remotePatience(rule string) time.Duration {
	switch rule {
	case "exclusion", "lost-update", "fifo", "fencing":
		return DefaultPatience
	}
	return time.Second
}

var faults = map[fault]string{
	grantsAll: "exclusion", grantsAtRandom: "lost-update", losesWakeUps: "liveness", servesLast: "fifo",
	leavesTicket: "cancel", dropsGrant: "cancel", ignoresContext: "cancel", hidesContextError: "cancel", takesWhenEnded: "cancel",
	staleUnlockFrees: "owner", doubleUnlockNil: "owner", unlockObeysCtx: "unlock-cancelled",
	doneStaysOpen: "lease", doneIsClosed: "lease", errStaysNil: "lease",
	tokenStays: "fencing", tokenOfArrival: "fencing",
	tryWaits: "try", tryHidesReason: "try", tryStays: "try",
	clientLeaks: "close", timerLeaks: "close", closeEndsAll: "close",
	onePermitMore: "permits", onePermitLess: "permits",
	waitsForItself: "reentrant", freesAtFirst: "reentrant", ownerIsClient: "reentrant",
	eightPlaces: "contenders", leaseSeldomDead: "contenders", doneSeldomOpen: "contenders",
	losesFewWakeUps: "wake-up", forgetsSleepers: "wake-up",
	tokenOfEightBits: "endurance", grantsLateInLife: "endurance",
	starvesOne: "starvation", lastBeyondEight: "fifo", trySeldomTakes: "try",
	leavesTicketOfThirty: "cancel-many", leaksOfThirty: "cancel-many", countsToThree: "read-count",
	readersUnclaimed: "claims", readersMissing: "claims",
	readerWalksIn: "read-exclusion", readerSlipsIn: "read-exclusion", writerWalksIn: "read-exclusion", firstReaderFrees: "read-exclusion",
	readersExclude: "readers-share", writersStarve: "writer-progress",
	readerLeavesTicket: "read-cancel", readerDropsGrant: "read-cancel", gateStaysShut: "read-cancel",
	staleReaderFrees: "read-lease", readerTokensBehind: "fencing", readersTakeNext: "fencing",
}

func TestBrokenRemoteIsRejected(t *testing.T) {
	var group errgroup.Group
	group.SetLimit(8) // more than there are processors: they mostly wait
	defer group.Wait()
	for f, name := range faults {
		group.Go(func() error {
			t.Run(string(f), func(t *testing.T) { rejectsRemote(t, f, name) })
			return nil
		})
	}
}

func rejectsRemote(t *testing.T, f fault, name string) {
	m := newMemoryServer(f)
	defer close(m.quit)
	r := rule(t, name)
	err := r.apply(t.Context(), Subject{Variant: m.variant(), Patience: remotePatience(name)})
	var broken *Failure
	if !errors.As(err, &broken) || broken.Rule.Name != name {
		t.Fatalf("rule %q does not reject it: %v", name, err)
	}
	t.Log(err)
}
