package atomics

import (
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// TestARM64UnderQEMU runs the tests of this package as an arm64 program on an
// emulated CPU with FEAT_LSE and on one without. It shows that the instructions
// are encoded and used as meant. It shows nothing about memory order: the
// emulator keeps that of the host.
func TestARM64UnderQEMU(t *testing.T) {
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		t.Skipf("needs a linux/amd64 host, this is %s/%s", runtime.GOOS, runtime.GOARCH)
	}
	qemu, err := exec.LookPath("qemu-aarch64-static")
	if err != nil {
		const reason = "qemu-aarch64-static not on PATH: apt-get install qemu-user-static"
		if slices.Contains(strings.Split(os.Getenv("LOCKLAB_REQUIRE"), ","), "qemu") {
			t.Fatal(reason)
		}
		t.Skip(reason)
	}
	binary := testBinary(t, "arm64")
	for _, on := range []struct {
		cpu  string
		want []string // lines of the verbose output
	}{
		{"cortex-a57", []string{ // Armv8.0
			"--- PASS: TestPrimitive/ldaxr-stlxr",
			"--- SKIP: TestPrimitive/casal",
			"this CPU lacks CASAL",
			"CASName is LDAXR/STLXR, Best is ldaxr-stlxr",
		}},
		{"neoverse-n1", []string{ // Armv8.2
			"--- PASS: TestPrimitive/ldaxr-stlxr",
			"--- PASS: TestPrimitive/casal",
			"CASName is CASAL, Best is casal",
		}},
	} {
		t.Run(on.cpu, func(t *testing.T) {
			// What asks the toolchain, or tests the checker, does not depend on the CPU.
			out, err := exec.CommandContext(t.Context(), qemu, "-cpu", on.cpu, binary,
				"-test.v", "-test.short", "-test.skip=^Test(Toolchain|ARM64|CheckRejects)").CombinedOutput()
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			for _, want := range append(on.want, "--- PASS: TestWords", "CNTVCT_EL0: ", "\nPASS\n") {
				if !strings.Contains(string(out), want) {
					t.Errorf("no %q in the output:\n%s", want, out)
				}
			}
		})
	}
}
