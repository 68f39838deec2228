package atomics

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
)

// These tests check the toolchain's output. The run under qemu omits them by their prefix.

// goTool runs the go command in this folder with env added and returns its whole output.
func goTool(t *testing.T, env []string, args ...string) (string, error) {
	t.Helper()
	path, err := exec.LookPath("go")
	if err != nil {
		t.Skipf("go not on PATH: %v", err)
	}
	cmd := exec.CommandContext(t.Context(), path, args...)
	// Flags of this test run are not for the inner command. make test has compiled its
	// packages without paths.
	cmd.Env = append(cmd.Environ(), "GOFLAGS=-trimpath", "CGO_ENABLED=0")
	cmd.Env = append(cmd.Env, env...)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// TestToolchainInlines fails if a method of the words is too heavy to inline.
func TestToolchainInlines(t *testing.T) {
	for _, arch := range []string{"amd64", "arm64", "loong64", "ppc64le", "riscv64", "s390x"} {
		if testing.Short() && arch != runtime.GOARCH {
			continue // make test-all compiles for all
		}
		out, err := goTool(t, []string{"GOARCH=" + arch}, "build", "-gcflags=-m", ".")
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		for _, word := range []string{"Uint32", "Uint64"} {
			methods := []string{"Load", "Store", "StoreRelease", "CompareAndSwap", "Swap", "Add"}
			if word == "Uint32" {
				methods = append(methods, "TestAndSet", "AddRelease", "GuardedReset")
			}
			for _, method := range methods {
				if want := "can inline (*" + word + ")." + method + "\n"; !strings.Contains(out, want) {
					t.Errorf("%s: compiler does not say %q", arch, want)
				}
			}
		}
		for _, function := range []string{"SpinHint", "Ticks"} {
			if want := "can inline " + function + "\n"; !strings.Contains(out, want) {
				t.Errorf("%s: compiler does not say %q", arch, want)
			}
		}
	}
}

// testBinary builds the test binary of this package for arch and tags, on Linux, without go
// vet: make lint runs it on every architecture.
func testBinary(t *testing.T, arch, tags string) string {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "atomics.test")
	out, err := goTool(t, []string{"GOOS=linux", "GOARCH=" + arch}, "test", "-c", "-vet=off", "-ldflags=-w", "-tags="+tags, "-o", binary, ".")
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return binary
}

func TestToolchainFiles(t *testing.T) {
	if testing.Short() {
		t.Skip("make test-all runs it")
	}
	for _, b := range []struct{ arch, tags, want string }{
		{"amd64", "", "[cas_amd64.s clock_amd64.s poll_amd64.s spin_amd64.s]"},
		{"amd64", "callrelease", "[cas_amd64.s clock_amd64.s poll_amd64.s spin_amd64.s storerelease_amd64.s]"},
		{"amd64", "race", "[cas_amd64.s clock_amd64.s spin_amd64.s]"},
		{"amd64", "systematic", "[cas_amd64.s clock_amd64.s]"},
		{"amd64", "purego", "[]"},
		{"arm64", "", "[cas_arm64.s clock_arm64.s poll_arm64.s spin_arm64.s]"},
		{"arm64", "systematic", "[cas_arm64.s clock_arm64.s]"},
		{"arm64", "purego", "[]"},
		{"loong64", "", "[cas_loong64.s poll_loong64.s]"},
		{"loong64", "systematic", "[cas_loong64.s]"},
		{"loong64", "purego", "[]"},
		{"ppc64le", "", "[cas_ppc64le.s poll_ppc64le.s]"},
		{"ppc64le", "systematic", "[cas_ppc64le.s]"},
		{"ppc64le", "purego", "[]"},
		{"riscv64", "", "[cas_riscv64.s poll_riscv64.s spin_riscv64.s]"},
		{"riscv64", "systematic", "[cas_riscv64.s]"},
		{"riscv64", "purego", "[]"},
		{"s390x", "", "[cas_s390x.s poll_s390x.s]"},
		{"s390x", "systematic", "[cas_s390x.s]"},
		{"s390x", "purego", "[]"},
		{"386", "", "[]"},
		{"ppc64", "", "[]"},
	} {
		env := []string{"GOOS=linux", "GOARCH=" + b.arch}
		out, err := goTool(t, env, "list", "-f={{.SFiles}}", "-tags="+b.tags, ".")
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		if got := strings.TrimSpace(out); got != b.want {
			t.Errorf("%s, tags %q: assembly is %s, want %s", b.arch, b.tags, got, b.want)
		}
	}
}

func overlayWith(t *testing.T, data string) string {
	t.Helper()
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	source := filepath.Join(dir, "added.go")
	overlay := filepath.Join(dir, "overlay.json")
	replace, err := json.Marshal(map[string]any{"Replace": map[string]string{filepath.Join(here, "added.go"): source}})
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string]string{source: data, overlay: string(replace)} {
		if err := os.WriteFile(name, []byte(data), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return "-overlay=" + overlay
}

// TestToolchainCacheLine fails if CacheLine is shorter than the padding of the Go runtime.
func TestToolchainCacheLine(t *testing.T) {
	root, err := goTool(t, nil, "env", "GOROOT")
	if err != nil {
		t.Fatal(err)
	}
	for arch, file := range map[string]string{"amd64": "x86", "arm64": "arm64", "loong64": "loong64", "ppc64le": "ppc64x", "riscv64": "riscv64", "s390x": "s390x"} {
		if testing.Short() && arch != runtime.GOARCH {
			continue // make test-all compiles for all
		}
		source, err := os.ReadFile(filepath.Join(strings.TrimSpace(root), "src/internal/cpu/cpu_"+file+".go"))
		if err != nil {
			t.Fatal(err)
		}
		size := regexp.MustCompile(`const CacheLinePadSize = (\d+)`).FindSubmatch(source)
		if size == nil {
			t.Fatalf("%s: no CacheLinePadSize", arch)
		}
		overlay := overlayWith(t, "package atomics\n\nconst _ = uint(CacheLine - "+string(size[1])+")\n")
		if out, err := goTool(t, []string{"GOARCH=" + arch}, "build", overlay, "."); err != nil {
			t.Errorf("%s: CacheLine is less than the %s bytes of the Go runtime: %s", arch, size[1], out)
		}
	}
}

func TestToolchainVetsCopies(t *testing.T) {
	overlay := overlayWith(t, "package atomics\n\nfunc copies(a Uint32, b Uint64) {}\n")
	for _, tags := range []string{"", "systematic"} {
		out, err := goTool(t, nil, "vet", overlay, "-tags="+tags, ".")
		for _, word := range []string{"Uint32", "Uint64"} {
			if want := "copies passes lock by value: "; err == nil || !regexp.MustCompile(want+`\S*`+word).MatchString(out) {
				t.Errorf("tags %q: vet does not report the copy of a %s: %v\n%s", tags, word, err, out)
			}
		}
	}
}
