// A program that uses a spin lock.
package main

import "locklab/spinlock"

func main() {
	mu := spinlock.NewMCS(1, spinlock.Options{}).Worker(0)
	mu.Lock()
	println("held")
	mu.Unlock()
}
