package spinlock_test

import (
	"sync"
	"testing"

	"locklab/harness"
	"locklab/spinlock"
)

// BenchmarkVia measures one uncontended acquisition and its release. It calls the lock by its
// type or its handle's type, as a program does, and through a sync.Locker, as the lab does.
//
//	go test -run '^$' -bench Via ./spinlock
func BenchmarkVia(b *testing.B) {
	for _, name := range []string{"tas", "ttas-backoff", "ticket", "mcs", "clh"} {
		b.Run("lock="+name+"/via=locker", func(b *testing.B) {
			mu := variant(b, name).Local(harness.Setup{Workers: 1}).Worker(0)
			pairs(b, mu)
		})
	}
	b.Run("lock=tas/via=type", func(b *testing.B) {
		mu := new(spinlock.TAS)
		for range b.N {
			mu.Lock()
			//lint:ignore SA2001 only the cost of the pair matters
			mu.Unlock()
		}
	})
	b.Run("lock=ttas-backoff/via=type", func(b *testing.B) {
		mu := new(spinlock.Backoff)
		for range b.N {
			mu.Lock()
			//lint:ignore SA2001 only the cost of the pair matters
			mu.Unlock()
		}
	})
	b.Run("lock=ticket/via=type", func(b *testing.B) {
		mu := spinlock.NewTicket(1, spinlock.Options{})
		for range b.N {
			mu.Lock()
			//lint:ignore SA2001 only the cost of the pair matters
			mu.Unlock()
		}
	})
	b.Run("lock=mcs/via=type", func(b *testing.B) {
		mu := spinlock.NewMCS(1, spinlock.Options{}).Worker(0)
		for range b.N {
			mu.Lock()
			//lint:ignore SA2001 only the cost of the pair matters
			mu.Unlock()
		}
	})
	b.Run("lock=clh/via=type", func(b *testing.B) {
		mu := spinlock.NewCLH(1, spinlock.Options{}).Worker(0)
		for range b.N {
			mu.Lock()
			//lint:ignore SA2001 only the cost of the pair matters
			mu.Unlock()
		}
	})
}

//go:noinline
func pairs(b *testing.B, mu sync.Locker) {
	for range b.N {
		mu.Lock()
		//lint:ignore SA2001 only the cost of the pair matters
		mu.Unlock()
	}
}
