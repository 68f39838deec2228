package zklock

import (
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"locklab/internal/zksession"
	"locklab/lock"
)

// TestFailureToldOnce: a Trace gets one RenewalFailed per lost connection.
func TestFailureToldOnce(t *testing.T) {
	var told atomic.Int32
	l := &Lease{q: &queue{path: "/a"}, trace: &Trace{RenewalFailed: func(e lock.RenewalFailedInfo) {
		if !errors.Is(e.Err, errNoConnection) {
			t.Errorf("told of %v", e.Err)
		}
		told.Add(1)
	}}}
	l.life = newLife(t.Context())
	c := &Client{conn: new(zksession.Conn), heldLeases: heldLeases{traced: map[*Lease]time.Time{l: {}}}}
	c.contacts.busy = true // so that no contact is sent
	now := time.Now()
	proof := zksession.Proof{Since: now.Add(-time.Second), Committed: now.Add(-time.Second)}
	for round := range int32(3) {
		c.isUp = true
		c.doContact(proof, now)
		c.isUp = false
		for range 5 {
			c.doContact(proof, now)
		}
		c.work.Wait()
		if n := told.Load(); n != round+1 {
			t.Fatalf("told %d times while the connection was lost %d times", n, round+1)
		}
	}
}
