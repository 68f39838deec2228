// Command program finds its other build and simulates a lock there, as lab.Main does.
// It is built in a module of its own.
package main

import (
	"context"
	"fmt"
	"os"
	"runtime"

	"locklab/harness"
	"locklab/harness/simulate"
	"locklab/spinlock/lab"
)

// commit is set by the linker.
var commit string

func main() {
	simulate.OffloadMain(lab.Suite)
	exe, err := os.Executable()
	check(err)
	_, file, _, _ := runtime.Caller(0)
	found, err := simulate.FindBuild(context.Background(), simulate.BuildProgram{
		Exe: exe, Commit: commit, Source: simulate.BuildSourceOf(file, exe), Locks: []string{"mcs"},
		Say: func(text string) { fmt.Fprintln(os.Stderr, text) },
	})
	check(err)
	m, err := simulate.Named("skylake-24")
	check(err)
	w := simulate.Workload{Workers: 4, Lines: 1, Hold: 10, Think: 10, Wait: harness.WaitPause, Turns: 200, Warm: 20, Seed: 1}
	check(simulate.Pool{Exe: found}.Run(context.Background(), []simulate.OffloadJob{{Machine: m, Lock: "mcs", Workload: w, Seeds: 1}},
		func(_ int, a simulate.Answer) error {
			if a.Err == nil {
				fmt.Printf("%s\n%.3f\n", found, a.Simulation.PerAcquisition.Median)
			}
			return a.Err
		}))
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
}
