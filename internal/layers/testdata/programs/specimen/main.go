// A program that uses a lock of the lab.
package main

import (
	"locklab/harness"
	"locklab/spinlock/lab"
)

func main() {
	mu := lab.Suite[0].Local(harness.Setup{Workers: 1}).Worker(0)
	mu.Lock()
	println("held")
	mu.Unlock()
}
