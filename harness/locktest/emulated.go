package locktest

import (
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"testing"

	"locklab/atomics"
	"locklab/harness"
	"locklab/internal/qemu"
)

// An emulatedCPU is a CPU model, and the compare-and-swap instructions to use on it.
type emulatedCPU struct{ name, cas string }

var emulatedCPUs = []emulatedCPU{
	{"cortex-a53", "LDAXR/STLXR"}, // Armv8.0
	{"max", "CASAL"},
}

// emulatedRules are the rules for which concurrent threads matter, and emulatedStress is
// the duration of each: the emulator is about ten times slower than the CPU.
const (
	emulatedRules  = "liveness|exclusion|lost-update|preemption|read-exclusion|read-snapshot"
	emulatedStress = "50ms"
)

// UnderQEMU runs the calling package's TestSuite, whose argument must be suite, on emulated
// CPUs with and without atomic instructions, by the rules with concurrent threads. It skips the
// locks named in storeLoad, which need a store and a later load in order: qemu on amd64 does not
// keep STLR and LDAR in order. The caller must be named TestUnderQEMU.
func UnderQEMU(t *testing.T, suite []*harness.Variant, storeLoad ...string) {
	t.Helper()
	if RaceDetector {
		t.Skip("the program for the emulated CPU is the same without the race detector")
	}
	if runtime.GOARCH == "arm64" { // natively, or inside the emulator
		t.Logf("compare-and-swap is %s", atomics.CASName())
		return
	}
	for _, name := range storeLoad {
		if !slices.ContainsFunc(suite, func(v *harness.Variant) bool { return v.Name == name }) {
			t.Fatalf("%q is no lock of the suite", name)
		}
	}
	emulator, binary := qemu.Find(t, "aarch64"), qemu.TestBinary(t, "arm64")
	for _, cpu := range emulatedCPUs {
		t.Run(cpu.name, func(t *testing.T) {
			cmd := exec.CommandContext(t.Context(), emulator, "-cpu", cpu.name, binary, "-test.v",
				"-test.run=^Test(Suite|UnderQEMU)$//^("+emulatedRules+")$", "-test.skip=^TestSuite$/^("+strings.Join(storeLoad, "|")+")$")
			cmd.Env = append(cmd.Environ(), StressEnv+"="+emulatedStress)
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Errorf("%v\n%s", err, out)
			}
			wants := []string{"compare-and-swap is " + cpu.cas + "\n"}
			for _, v := range suite {
				if !slices.Contains(storeLoad, v.Name) {
					wants = append(wants, "=== RUN   TestSuite/"+v.Name+"\n")
				}
			}
			for _, want := range wants {
				if !strings.Contains(string(out), want) {
					t.Errorf("no %q in the output:\n%s", want, out)
				}
			}
		})
	}
}
