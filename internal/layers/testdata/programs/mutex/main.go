// A program that uses a mutex.
package main

import "locklab/mutex"

func main() {
	mu := mutex.NewMCSPark(1, mutex.Options{}).Worker(0)
	mu.Lock()
	println("held")
	mu.Unlock()
}
