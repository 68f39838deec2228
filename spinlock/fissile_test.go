package spinlock

import (
	"runtime"
	"testing"
	"time"

	"locklab/internal/waiting"
)

// TestFissileHandsOver: once the alpha is impatient, a release leaves the word to it only.
func TestFissileHandsOver(t *testing.T) {
	l := NewFissile(2, Options{})
	holder, arrival := &l.workers[0], &l.workers[1]
	holder.Lock()
	if arrival.TryLock() {
		t.Fatal("an arrival took a lock that is held")
	}
	holder.Unlock()
	if !arrival.TryLock() {
		t.Fatal("a lock without waiters was not freed")
	}
	l.impatient.Store(fissileHanded)
	arrival.Unlock()
	if got := l.outer.Load(); got != fissileHanded {
		t.Errorf("the word is %d after a release for an impatient alpha, want %d", got, fissileHanded)
	}
	if holder.TryLock() {
		t.Error("an arrival took what was handed to the alpha")
	}
	l.awaitAlpha()
	if outer, impatient := l.outer.Load(), l.impatient.Load(); outer != fissileHeld || impatient != fissileFree {
		t.Errorf("the alpha has the lock: the word is %d and impatient %d, want %d and %d", outer, impatient, fissileHeld, fissileFree)
	}
}

// TestFissilePatienceEnds: no arrival passes an impatient alpha, however often it tries.
func TestFissilePatienceEnds(t *testing.T) {
	for _, wait := range waiting.Policies {
		l := NewFissile(2, Options{Wait: wait})
		holder, alpha := &l.workers[0], &l.workers[1]
		holder.Lock()
		letGo, done := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(done)
			alpha.Lock()
			<-letGo
			alpha.Unlock()
		}()
		for start := time.Now(); l.impatient.Load() == fissileFree; runtime.Gosched() {
			if time.Since(start) > 10*time.Second {
				t.Fatalf("wait=%s: the alpha's patience does not end", wait)
			}
		}
		holder.Unlock()
		for range 1000 {
			if holder.TryLock() {
				t.Fatalf("wait=%s: an arrival passed the impatient alpha", wait)
			}
		}
		close(letGo)
		<-done
		if !holder.TryLock() {
			t.Errorf("wait=%s: the lock is not free when all have left", wait)
		}
	}
}
