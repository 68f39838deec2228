// Command simulator is the part of the other build of a program that the command
// simulate asks: it has the same locks, and none of the rest, which takes long to build.
package main

import (
	"os"

	"locklab/harness/simulate"
	"locklab/spinlock/lab"
)

func main() {
	simulate.OffloadMain(lab.Suite)
	os.Exit(1)
}
