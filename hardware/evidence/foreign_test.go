package evidence

import (
	"debug/elf"
	"errors"
	"locklab/internal/qemu"
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
		{"arm64", "aarch64"},
		{"riscv64", "riscv64"},
		{"ppc64le", "ppc64le"},
		{"s390x", "s390x"},
		{"loong64", "loongarch64"},
	} {
		t.Run(on.arch, func(t *testing.T) {
			args := []string{strippedBinary(t, on.arch), "-test.v", "-test.run=^(TestFacts|TestPrimitives|TestUndecoded|FuzzLines)$"}
			if on.qemu != "" {
				args = slices.Insert(args, 0, qemu.Find(t, on.qemu))
			}
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
