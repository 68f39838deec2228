package atomics

import (
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"locklab/internal/qemu"
)

type emulated struct {
	cpu  string // name in qemu
	best string // the line of TestBest; empty if it depends on the version of qemu
	skip string // the primitive that this CPU lacks
}

var targets = []struct {
	goarch, qemu, clock string
	cpus                []emulated
}{
	{"arm64", "aarch64", "CNTVCT_EL0", []emulated{
		{"cortex-a57", "CASName is LDAXR/STLXR, Best is ldaxr-stlxr", "casal"}, // Armv8.0
		{"neoverse-n1", "CASName is CASAL, Best is casal", ""},                 // Armv8.2
	}},
	{"loong64", "loongarch64", "monotonic", []emulated{
		{"la464", "CASName is LL/SC, Best is ll-sc", "amcas-db"},
		{"max", "", ""}, // has AMCAS_DB as of qemu 11; qemu 7 has no such CPU
	}},
	{"ppc64le", "ppc64le", "monotonic", []emulated{
		{"power8", "CASName is LWARX/STWCX., Best is lwarx-stwcx", ""},
		{"power9", "CASName is LWARX/STWCX., Best is lwarx-stwcx", ""},
		{"power10", "CASName is LWARX/STWCX., Best is lwarx-stwcx", ""},
	}},
	{"riscv64", "riscv64", "monotonic", []emulated{
		{"rv64", "CASName is LR/SC, Best is lr-sc", ""},
		{"sifive-u54", "CASName is LR/SC, Best is lr-sc", ""},
	}},
	{"s390x", "s390x", "monotonic", []emulated{
		{"max", "CASName is CS, Best is cs", ""},
	}},
}

// beyond is the reason why no run may cover a primitive.
var beyond = map[string]string{
	"amcas-db": "no CPU of this qemu has AMCAS_DB: qemu 11 has one",
}

// TestUnderQEMU runs the tests of this package on emulated CPUs of another architecture, with
// and without the instructions of its primitives, and fails if a primitive passed on none. It
// shows nothing about memory order: the emulator keeps the order of the host.
func TestUnderQEMU(t *testing.T) {
	if testing.Short() {
		t.Skip("make test-all runs it")
	}
	if raceEnabled {
		t.Skip("the program for the emulated CPU is the same without the race detector")
	}
	for _, target := range targets {
		t.Run(target.goarch, func(t *testing.T) {
			t.Parallel()
			emulator, binary := qemu.Find(t, target.qemu), qemu.TestBinary(t, target.goarch)
			passed := make(map[string]bool) // every primitive seen; true if it passed on some CPU
			for _, on := range target.cpus {
				t.Run(on.cpu, func(t *testing.T) {
					out := on.run(t, emulator, binary)
					for _, want := range []string{on.best, "--- PASS: TestWords", "--- PASS: TestPollWhileSees", target.clock + ": ", "\nPASS\n"} {
						if !strings.Contains(out, want) {
							t.Errorf("no %q in the output:\n%s", want, out)
						}
					}
					on.results(t, out, passed)
				})
			}
			for name, ok := range passed {
				if ok {
					continue
				}
				t.Run(name, func(t *testing.T) {
					if reason := beyond[name]; reason != "" {
						t.Skip(reason)
					}
					t.Error("no run covered this primitive")
				})
			}
		})
	}
}

// run returns the output of binary on this CPU, without the tests that do not depend on it.
func (on emulated) run(t *testing.T, emulator, binary string) string {
	t.Helper()
	if on.best == "" {
		// qemu 7 lists its CPUs and then exits with 1.
		cpus, _ := exec.CommandContext(t.Context(), emulator, "-cpu", "help").CombinedOutput()
		if !slices.Contains(strings.Fields(string(cpus)), on.cpu) {
			t.Skipf("this qemu has no CPU %q", on.cpu)
		}
	}
	out, err := exec.CommandContext(t.Context(), emulator, "-cpu", on.cpu, binary,
		"-test.v", "-test.short", "-test.skip=^Test(Toolchain|UnderQEMU|CheckRejects)").CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return string(out)
}

var resultRE = regexp.MustCompile(`--- (PASS|SKIP|FAIL): TestPrimitive/(\S+)`)

func (on emulated) results(t *testing.T, out string, passed map[string]bool) {
	t.Helper()
	found := resultRE.FindAllStringSubmatch(out, -1)
	if len(found) < 2 {
		t.Errorf("only %v were tested: the reference and one more should be:\n%s", found, out)
	}
	for _, result := range found {
		status, name := result[1], result[2]
		passed[name] = passed[name] || status == "PASS"
		if skipped := status == "SKIP"; on.best != "" && skipped != (name == on.skip) {
			t.Errorf("%s: %s, but what this CPU should skip is %q", name, status, on.skip)
		}
	}
}
