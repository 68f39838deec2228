package chaos

import (
	"fmt"
	"sync"
	"time"

	"locklab/harness"
	"locklab/harness/oracle"
)

// A holding is a lease and the goroutine that watches it.
type holding struct {
	lease  harness.Lease
	shared bool

	mu   sync.Mutex
	over bool // it is being released: its end is no news
	stop chan struct{}
}

// beat is how often a holder's process shows that it runs, and late how far two of these
// moments may lie apart before it says that it did not.
const (
	beat = 5 * time.Millisecond
	late = 2 * beat
)

// watch says when a lease ends that is not released, and when the process did not run
// after it ran.
func (w *worker) watch(h *holding, ran int64) {
	timer := time.NewTimer(beat)
	defer timer.Stop()
	for ended := false; !ended; {
		select {
		case <-h.lease.Done():
			ended = true
		case <-h.stop:
			return
		case <-timer.C:
			timer.Reset(beat)
		}
		at := now()
		if at-ran > int64(late) {
			w.event(oracle.Event{At: ran, Kind: oracle.Starved, Deadline: at})
		}
		ran = at
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.over {
		w.tell(h)
	}
}

// tell says that the lease has ended by itself. The caller holds h.mu.
func (w *worker) tell(h *holding) {
	h.over = true
	w.event(oracle.Event{At: now(), Kind: oracle.Told, Token: h.lease.Token(), Shared: h.shared, Text: fmt.Sprint(h.lease.Err())})
}
