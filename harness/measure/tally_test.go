package measure

import (
	"runtime"
	"sync/atomic"
	"testing"
)

// TestTallyIsReadWhole: two rising counters are read from the same publication.
func TestTallyIsReadWhole(t *testing.T) {
	snapshots := 100_000
	if raceEnabled {
		snapshots /= 50 // the detector finds a race in any of them, and slows each down
	}
	w := new(tally)
	var stop atomic.Bool
	done := make(chan struct{})
	go func() {
		defer close(done)
		for n := uint64(1); !stop.Load(); n = n%64 + 1 {
			w.publish(n, n)
			if n == 64 {
				runtime.Gosched()
			}
		}
	}()
	c, s := newControl(Limit{Window: 1}, 1), newSnapshot(1)
	var last counts
	torn, fresh := 0, 0
	for fresh < snapshots {
		s.take(c, []*tally{w})
		now := s.workers[0]
		if now == last {
			runtime.Gosched() // to the worker, if there is one processor
			continue
		}
		fresh++
		if now.handovers != now.ops || now.ops < last.ops {
			if torn++; torn == 1 {
				t.Errorf("%d acquisitions and %d handovers are published together, read %+v after %+v", now.ops, now.ops, now, last)
			}
		}
		last = now
	}
	stop.Store(true)
	<-done
	if torn > 0 {
		t.Errorf("%d of %d snapshots are torn", torn, fresh)
	}
}

// TestHalfPublished: a writer stopped halfway neither blocks a reader nor shows new counts.
func TestHalfPublished(t *testing.T) {
	var p published
	for n := uint64(1); n < 4; n++ {
		whole := counts{2 * n, n}
		p.set(whole)
		// These are the stores of set before it publishes.
		p.records[(p.version.Load()+1)&1].ops.StoreRelease(99)
		if got := p.get(); got != whole {
			t.Errorf("read %+v, want %+v", got, whole)
		}
	}
}
