package chaos

import (
	"fmt"
	"sync"
	"time"

	"locklab/harness"
	"locklab/harness/oracle"
)

type holding struct {
	lease  harness.Lease
	shared bool

	mu   sync.Mutex
	over bool // it is being released: its end is not reported
	stop chan struct{}
}

// beat is the interval at which a holder's process shows that it runs. A gap longer than
// late is reported as a delay.
const (
	beat = 5 * time.Millisecond
	late = 2 * beat
)

// watch reports the end of a lease that was not released, and times after ran when the
// process did not run.
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

// tell reports that the lease has ended without a release. The caller holds h.mu.
func (w *worker) tell(h *holding) {
	h.over = true
	w.event(oracle.Event{At: now(), Kind: oracle.Told, Token: h.lease.Token(), Shared: h.shared, Text: fmt.Sprint(h.lease.Err())})
}
