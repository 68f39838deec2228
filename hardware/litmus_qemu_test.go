package hardware

import (
	"os/exec"
	"slices"
	"strings"
	"testing"

	"locklab/internal/qemu"
)

// TestUnderQEMU runs the assembly for other architectures on emulated CPUs. It shows that
// instructions are encoded and count as meant, and nothing about weak order on a strongly
// ordered host.
func TestUnderQEMU(t *testing.T) {
	if testing.Short() {
		t.Skip("make test-all runs it")
	}
	if raceEnabled {
		t.Skip("the program for the emulated CPU is the same without the race detector")
	}
	for _, target := range []struct {
		goarch, qemu string
		cpus         []string
		casal        bool // only the last of cpus has it
	}{
		{"arm64", "aarch64", []string{"cortex-a57", "neoverse-n1"}, true},
		{"riscv64", "riscv64", []string{"rv64"}, false},
	} {
		t.Run(target.goarch, func(t *testing.T) {
			emulator := qemu.Find(t, target.qemu)
			binary := qemu.TestBinary(t, target.goarch)
			for i, cpu := range target.cpus {
				t.Run(cpu, func(t *testing.T) {
					cmd := exec.CommandContext(t.Context(), emulator, "-cpu", cpu, binary, "-test.v",
						"-test.run=^Test(Bodies|Litmus|LitmusThreadsGiveUp|PetersonNeedsAFence|OneInstructionLosesNothingOnOneCPU|OnlyAtomicBodiesSurviveTwoCPUs|HeldLockIsGivenUp|LockAlone|Waits|WaitsSeeAStore)$")
					cmd.Env = append(cmd.Environ(), emulatedVariable+"=1")
					out, err := cmd.CombinedOutput()
					if err != nil {
						t.Fatalf("%v\n%s", err, out)
					}
					for _, want := range []string{"--- PASS: TestBodies", "--- PASS: TestLitmusThreadsGiveUp", "--- PASS: TestLockAlone", "\nPASS\n"} {
						if !strings.Contains(string(out), want) {
							t.Errorf("no %q in the output:\n%s", want, out)
						}
					}
					if wfe := strings.Contains(string(out), "--- PASS: TestWaitsSeeAStore/LDAXR,_WFE"); wfe != (target.goarch == "arm64") {
						t.Errorf("WFE ran is %v:\n%s", wfe, out)
					}
					if casal := strings.Contains(string(out), "bodies: load, compare, store, LDAXR/STLXR, CASAL"); casal != (target.casal && i == len(target.cpus)-1) {
						t.Errorf("CASAL ran is %v:\n%s", casal, out)
					}
				})
			}
		})
	}
}

func TestBodies(t *testing.T) {
	var names []string
	for _, b := range casBodies {
		if b.name == "" || slices.Contains(names, b.name) {
			t.Errorf("two bodies are called %q", b.name)
		}
		names = append(names, b.name)
	}
	if casBodies[0].atomic || !casBodies[len(casBodies)-1].atomic {
		t.Error("the bodies do not go from no help of the hardware to all of it")
	}
	t.Log("bodies: " + strings.Join(names, ", "))
}
