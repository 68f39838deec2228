package spinlock_test

import (
	"fmt"
	"sync"

	"locklab/spinlock"
)

// Workers update a table: short critical sections, few workers, service in order of arrival.
func ExampleMCS() {
	const workers = 4
	type counters struct {
		requests, bytes int
	}
	var (
		lock  = spinlock.NewMCS(workers, spinlock.Options{})
		total counters // guarded by lock
		pool  sync.WaitGroup
	)
	for i := range workers {
		pool.Go(func() {
			mu := lock.Worker(i) // the handle of this worker
			for range 1000 {
				mu.Lock()
				total.requests++
				total.bytes += 100
				mu.Unlock()
			}
		})
	}
	pool.Wait()
	fmt.Println(total.requests, total.bytes)
	// Output: 4000 400000
}

// A lock without state for each worker is used like a sync.Mutex.
func ExampleBackoff() {
	var (
		mu    spinlock.Backoff // the zero value is free
		total int
		wg    sync.WaitGroup
	)
	for range 4 {
		wg.Go(func() {
			for range 1000 {
				mu.Lock()
				total++
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	fmt.Println(total)
	// Output: 4000
}
