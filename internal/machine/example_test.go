package machine_test

import (
	"fmt"
	"time"

	"locklab/internal/machine"
)

func ExampleEnvironment_String() {
	e := machine.Environment{
		OS: "linux", Arch: "amd64", Kernel: "6.18.2-generic", CPU: "AMD EPYC 7B13 64-Core Processor",
		CPUs: 2, Cores: 2, Sockets: 1, Virtual: "KVM", Go: "go1.26.8",
	}
	fmt.Println(e)
	// Output: AMD EPYC 7B13 · 2 CPUs (1 socket) · linux 6.18 amd64 · go1.26.8 · KVM guest
}

func ExampleWork() {
	clock := machine.Calibrate()
	work := machine.CalibrateWork(clock)

	n := work.Iterations(100 * time.Microsecond)
	start := clock.Now()
	machine.Do(n)
	took := clock.Nanoseconds(clock.Now() - start)

	fmt.Println(took > 50_000)
	// Output: true
}
