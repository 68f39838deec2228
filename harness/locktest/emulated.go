package locktest

import (
	"os/exec"
	"regexp"
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
// locks named in storeLoad. The caller must be named TestUnderQEMU.
func UnderQEMU(t *testing.T, suite []*harness.Variant, storeLoad ...string) {
	t.Helper()
	if raceDetector {
		t.Skip("the program for the emulated CPU is the same without the race detector")
	}
	if runtime.GOARCH == "arm64" { // natively, or inside the emulator
		t.Logf("compare-and-swap is %s", atomics.CASName())
		return
	}
	tested := slices.DeleteFunc(slices.Clone(suite), func(v *harness.Variant) bool { return slices.Contains(storeLoad, v.Name) })
	if len(tested)+len(storeLoad) != len(suite) {
		t.Fatalf("one of %q is no lock of the suite", storeLoad)
	}
	emulator, binary := qemu.Find(t, "aarch64"), qemu.TestBinary(t, "arm64")
	for _, cpu := range emulatedCPUs {
		t.Run(cpu.name, func(t *testing.T) {
			out := cpu.run(t, emulator, binary, tested)
			if want := "compare-and-swap is " + cpu.cas + "\n"; !strings.Contains(out, want) {
				t.Errorf("no %q in the output:\n%s", want, out)
			}
			results := suiteResults(out)
			for _, v := range suite {
				t.Run(v.Name, func(t *testing.T) {
					switch {
					case slices.Contains(storeLoad, v.Name):
						t.Skip("it needs a store and a later load in order, and qemu on amd64 does not keep STLR and LDAR in order")
					case results[v.Name] == "SKIP":
						t.Skip("it cannot run there, as TestSuite on that CPU says")
					case results[v.Name] != "PASS":
						t.Errorf("on %s the result is %q:\n%s", cpu.name, results[v.Name], out)
					}
				})
			}
		})
	}
}

// run returns the output of the calling package's tests on the CPU, with any failures.
func (cpu emulatedCPU) run(t *testing.T, emulator, binary string, suite []*harness.Variant) string {
	t.Helper()
	var names []string
	for _, v := range suite {
		names = append(names, regexp.QuoteMeta(v.Name))
	}
	cmd := exec.CommandContext(t.Context(), emulator, "-cpu", cpu.name, binary, "-test.v",
		"-test.run=^Test(Suite|UnderQEMU)$/^("+strings.Join(names, "|")+")$/^("+emulatedRules+")$")
	cmd.Env = append(cmd.Environ(), StressEnv+"="+emulatedStress)
	out, err := cmd.CombinedOutput()
	if err != nil && !strings.Contains(string(out), "--- FAIL") {
		t.Fatalf("%v\n%s", err, out)
	}
	return string(out)
}

var suiteResultRE = regexp.MustCompile(`(?m)^ {4}--- (PASS|SKIP|FAIL): TestSuite/(\S+) `)

func suiteResults(out string) map[string]string {
	results := make(map[string]string)
	for _, m := range suiteResultRE.FindAllStringSubmatch(out, -1) {
		results[m[2]] = m[1]
	}
	return results
}
