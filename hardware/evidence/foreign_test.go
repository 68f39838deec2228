package evidence

import (
	"debug/elf"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// TestStripped runs these tests in a binary without a symbol table, here and, emulated, for
// every other architecture.
func TestStripped(t *testing.T) {
	if testing.Short() {
		t.Skip("make test-all runs it")
	}
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		t.Skipf("needs a linux/amd64 host, this is %s/%s", runtime.GOOS, runtime.GOARCH)
	}
	for _, on := range []struct{ arch, qemu string }{
		{"amd64", ""},
		{"arm64", "qemu-aarch64-static"},
		{"riscv64", "qemu-riscv64-static"},
		{"ppc64le", "qemu-ppc64le-static"},
		{"s390x", "qemu-s390x-static"},
		{"loong64", "qemu-loongarch64-static"},
	} {
		t.Run(on.arch, func(t *testing.T) {
			var args []string
			if on.qemu != "" {
				args = append(args, emulator(t, on.qemu))
			}
			args = append(args, strippedBinary(t, on.arch), "-test.v", "-test.run=^(TestFacts|TestPrimitives|TestUndecoded|FuzzLines)$")
			out, err := exec.CommandContext(t.Context(), args[0], args[1:]...).CombinedOutput()
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			want := []string{"--- PASS: TestPrimitives", "--- PASS: TestUndecoded", "--- PASS: FuzzLines", "\nPASS\n"}
			for _, f := range facts[on.arch] {
				want = append(want, "--- PASS: TestFacts/"+f.name+"/"+f.operation+" ")
			}
			for _, w := range want {
				if !strings.Contains(string(out), w) {
					t.Errorf("no %q in the output:\n%s", w, out)
				}
			}
		})
	}
}

func emulator(t *testing.T, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		reason := name + " not on PATH: apt-get install qemu-user-static"
		if slices.Contains(strings.Split(os.Getenv("LOCKLAB_REQUIRE"), ","), "qemu") {
			t.Fatal(reason)
		}
		t.Skip(reason)
	}
	return path
}

func strippedBinary(t *testing.T, arch string) string {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "evidence.test")
	cmd := exec.CommandContext(t.Context(), "go", "test", "-c", "-vet=off", "-ldflags=-s -w", "-o", binary, ".")
	// Flags of this run are not for the inner command; make test compiles without paths.
	cmd.Env = append(cmd.Environ(), "GOFLAGS=-trimpath", "CGO_ENABLED=0", "GOOS=linux", "GOARCH="+arch)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	file, err := elf.Open(binary)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if symbols, err := file.Symbols(); !errors.Is(err, elf.ErrNoSymbols) {
		t.Errorf("the binary has %d symbols, error %v", len(symbols), err)
	}
	return binary
}
