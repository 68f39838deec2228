//go:build systematic && simulate

package lab

import (
	"slices"
	"time"

	"locklab/atomics"
	"locklab/harness"
)

func init() {
	syncMutex.Model = "a model of sync.Mutex"
	syncMutex.Local = func(harness.Setup) harness.Local { return harness.Shared(new(syncModel)) }
}

// A syncModel has the states of sync.Mutex, and its semaphore: a list in order of arrival,
// except that a waiter that was woken in vain returns to the front. The simulator changes
// workers only at words, so the list needs no lock.
type syncModel struct {
	state   atomics.Uint32 // the bits below, and from syncWaiting the number of waiters
	_       atomics.CacheLinePad
	list    atomics.Uint32 // an addition takes as long as the lock of the list
	asleep  []*atomics.Parker
	permits int
}

const (
	syncHeld = 1 << iota
	syncWoken
	syncStarving
	syncWaiting
)

func (m *syncModel) Lock() {
	if m.state.CompareAndSwap(0, syncHeld) {
		return
	}
	parker, start, again := atomics.NewParker(), atomics.Now(), false
	for spins, woken, starving := 0, uint32(0), uint32(0); ; {
		s := m.state.Load()
		switch {
		case s&(syncHeld|syncStarving) == 0:
			if m.state.CompareAndSwap(s, s&^woken|syncHeld) {
				return
			}
		case s&syncStarving == 0 && spins < 4:
			if woken|s&syncWoken == 0 && s >= syncWaiting && m.state.CompareAndSwap(s, s|syncWoken) {
				woken = syncWoken
			}
			atomics.SpinHint(30)
			spins++
		case m.state.CompareAndSwap(s, (s&^woken|starving)+syncWaiting):
			m.sleep(parker, again)
			if atomics.Now()-start > time.Millisecond {
				starving = syncStarving
			}
			if s = m.state.Load(); s&syncStarving != 0 {
				less := uint32(syncWaiting - syncHeld) // it was handed over
				if starving == 0 || s/syncWaiting == 1 {
					less += syncStarving // it ends
				}
				m.state.Add(-less)
				return
			}
			spins, woken, again = 0, syncWoken, true
		}
	}
}

func (m *syncModel) Unlock() {
	s := m.state.Add(^uint32(syncHeld - 1))
	if s&syncStarving != 0 {
		m.wake()
		return
	}
	for ; s >= syncWaiting && s&(syncHeld|syncWoken|syncStarving) == 0; s = m.state.Load() {
		if m.state.CompareAndSwap(s, s-syncWaiting|syncWoken) {
			m.wake()
			return
		}
	}
}

func (m *syncModel) sleep(p *atomics.Parker, again bool) {
	m.list.Add(1)
	if m.permits > 0 {
		m.permits--
		return
	}
	at := len(m.asleep)
	if again {
		at = 0
	}
	m.asleep = slices.Insert(m.asleep, at, p)
	p.Park()
}

func (m *syncModel) wake() {
	m.list.Add(1)
	if len(m.asleep) == 0 {
		m.permits++
		return
	}
	p := m.asleep[0]
	m.asleep = m.asleep[1:]
	p.Unpark()
}
