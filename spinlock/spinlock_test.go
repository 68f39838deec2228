package spinlock_test

import (
	"runtime"
	"sync"
	"testing"
	"unsafe"

	"locklab/atomics"
	"locklab/harness"
	"locklab/spinlock"
)

// The types that promise TryLock. Types without a constructor promise a ready zero value too.
var (
	_ tryLocker = (*spinlock.TAS)(nil)
	_ tryLocker = (*spinlock.ExchangeTAS)(nil)
	_ tryLocker = (*spinlock.TTAS)(nil)
	_ tryLocker = (*spinlock.Backoff)(nil)
	_ tryLocker = (*spinlock.Ticket)(nil)
	_ tryLocker = (*spinlock.ProportionalTicket)(nil)
	_ tryLocker = (*spinlock.TWA)(nil)
	_ tryLocker = (*spinlock.Anderson)(nil)
	_ tryLocker = (*spinlock.MCSWorker)(nil)
	_ tryLocker = (*spinlock.K42Worker)(nil)
	_ tryLocker = (*spinlock.HapaxWorker)(nil)
	_ tryLocker = (*spinlock.HemlockWorker)(nil)
	_ tryLocker = (*spinlock.MalthusianWorker)(nil)
	_ tryLocker = (*spinlock.FissileWorker)(nil)

	_ sync.Locker = (*spinlock.CLHWorker)(nil)
	_ sync.Locker = (*spinlock.CohortNode)(nil)
)

type tryLocker interface {
	sync.Locker
	TryLock() bool
}

// acquireOften lets each worker call visit under the lock that many times.
func acquireOften(l harness.Local, workers int, pin harness.Pin, times int, visit func()) {
	var wg sync.WaitGroup
	for i := range workers {
		wg.Go(func() {
			if pin != harness.PinNone {
				runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
			}
			h := l.Worker(i)
			for range times {
				h.Lock()
				visit()
				h.Unlock()
			}
		})
	}
	wg.Wait()
}

func TestOwnCacheLines(t *testing.T) {
	for name, size := range map[string]uintptr{
		"TAS":                unsafe.Sizeof(spinlock.TAS{}),
		"TTAS":               unsafe.Sizeof(spinlock.TTAS{}),
		"Backoff":            unsafe.Sizeof(spinlock.Backoff{}),
		"Ticket":             unsafe.Sizeof(spinlock.Ticket{}),
		"ExchangeTAS":        unsafe.Sizeof(spinlock.ExchangeTAS{}),
		"ProportionalTicket": unsafe.Sizeof(spinlock.ProportionalTicket{}),
		"TWA":                unsafe.Sizeof(spinlock.TWA{}),
		"Anderson":           unsafe.Sizeof(spinlock.Anderson{}),
		"MCS":                unsafe.Sizeof(spinlock.MCS{}),
		"K42":                unsafe.Sizeof(spinlock.K42{}),
		"Hapax":              unsafe.Sizeof(spinlock.Hapax{}),
		"CLH":                unsafe.Sizeof(spinlock.CLH{}),
	} {
		if size < 2*atomics.CacheLine {
			t.Errorf("%s has %d bytes: no space for padding on both sides of its word", name, size)
		}
	}
}
