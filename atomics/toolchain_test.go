package atomics

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// This file asks the toolchain what it made of the package. Its tests need no
// particular CPU, so the run under qemu leaves them out by their prefix.

// goTool runs the go command in this folder with env added to the environment
// and returns all it printed.
func goTool(t *testing.T, env []string, args ...string) (string, error) {
	t.Helper()
	path, err := exec.LookPath("go")
	if err != nil {
		t.Skipf("go not on PATH: %v", err)
	}
	cmd := exec.CommandContext(t.Context(), path, args...)
	// Flags that this test itself was run with are not for the inner one.
	cmd.Env = append(cmd.Environ(), "GOFLAGS=", "CGO_ENABLED=0")
	cmd.Env = append(cmd.Env, env...)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// TestToolchainInlines fails if a method of the words became too heavy to
// inline: every lock would pay for a call.
func TestToolchainInlines(t *testing.T) {
	for _, arch := range []string{"amd64", "arm64"} {
		out, err := goTool(t, []string{"GOARCH=" + arch}, "build", "-gcflags=-m", ".")
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		for _, word := range []string{"Uint32", "Uint64"} {
			for _, method := range []string{"Load", "Store", "StoreRelease", "CompareAndSwap", "Swap", "Add"} {
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

// instructions says what the disassembly of a function must match and, if not
// empty, must not match.
var instructions = []struct{ arch, function, must, never string }{
	{"amd64", "lockCmpxchg32.abi0", `LOCK CMPXCHGL `, ``},
	{"amd64", "lockCmpxchg64.abi0", `LOCK CMPXCHGQ `, ``},
	{"amd64", "xchg32.abi0", `XCHGL `, ``},
	{"amd64", "xchg64.abi0", `XCHGQ `, ``},
	{"amd64", "lockXadd32.abi0", `LOCK XADDL `, ``},
	{"amd64", "lockXadd64.abi0", `LOCK XADDQ `, ``},
	{"amd64", "movLoad32.abi0", `MOVL 0\(BX\), CX`, `LOCK|XCHG`},
	{"amd64", "movLoad64.abi0", `MOVQ 0\(BX\), CX`, `LOCK|XCHG`},
	{"amd64", "movStore32.abi0", `MOVL CX, 0\(BX\)`, `LOCK|XCHG`},
	{"amd64", "movStore64.abi0", `MOVQ CX, 0\(BX\)`, `LOCK|XCHG`},
	{"amd64", "storeRelease32.abi0", `MOVL AX, 0\(BX\)`, `LOCK|XCHG`},
	{"amd64", "storeRelease64.abi0", `MOVQ AX, 0\(BX\)`, `LOCK|XCHG`},
	{"amd64", "pause.abi0", `PAUSE`, ``},
	{"amd64", "ticks.abi0", `(?s)RDTSC.*SHLQ \$0x20, DX.*ORQ DX, AX`, ``},
	{"amd64", "compareAndSwap", `LOCK CMPXCHGL `, ``}, // CASName
	{"amd64", "(*Uint32).Store", `XCHGL `, ``},
	{"amd64", "(*Uint32).StoreRelease", `CALL .*storeRelease32`, `LOCK|XCHG`},

	{"arm64", "ldaxrCAS32.abi0", `(?s)LDAXRW .*STLXRW `, ``},
	{"arm64", "ldaxrCAS64.abi0", `(?s)LDAXR .*STLXR `, ``},
	{"arm64", "ldaxrSwap32.abi0", `(?s)LDAXRW .*STLXRW `, ``},
	{"arm64", "ldaxrSwap64.abi0", `(?s)LDAXR .*STLXR `, ``},
	{"arm64", "ldaxrAdd32.abi0", `(?s)LDAXRW .*STLXRW `, ``},
	{"arm64", "ldaxrAdd64.abi0", `(?s)LDAXR .*STLXR `, ``},
	{"arm64", "ldar32.abi0", `LDARW `, ``},
	{"arm64", "ldar64.abi0", `LDAR `, ``},
	{"arm64", "stlr32.abi0", `STLRW `, ``},
	{"arm64", "stlr64.abi0", `STLR `, ``},
	{"arm64", "pause.abi0", `ISB `, ``},
	{"arm64", "ticks.abi0", `(?s)ISB .*d53be040`, ``}, // MRS CNTVCT_EL0, R0
	{"arm64", "cntfrq.abi0", `d53be000`, ``},          // MRS CNTFRQ_EL0, R0
	// go tool objdump knows no instruction of FEAT_LSE. With the registers of
	// cas_arm64.s these are CASAL R3, R2, [R0], SWPAL and LDADDAL R2, R3, [R0].
	{"arm64", "casal32.abi0", `88e3fc02`, `LDAXR`},
	{"arm64", "casal64.abi0", `c8e3fc02`, `LDAXR`},
	{"arm64", "swpal32.abi0", `b8e28003`, `LDAXR`},
	{"arm64", "swpal64.abi0", `f8e28003`, `LDAXR`},
	{"arm64", "ldaddal32.abi0", `b8e20003`, `LDAXR`},
	{"arm64", "ldaddal64.abi0", `f8e20003`, `LDAXR`},
	{"arm64", "compareAndSwap", `(?s)88[ef].f[c-f].*LDAXRW .*STLXRW `, ``}, // CASName: CASALW, and without FEAT_LSE the pair
	{"arm64", "(*Uint32).StoreRelease", `STLRW `, ``},
}

// TestToolchainInstructions fails if a function is not made of the instruction
// that it is named after, which on one CPU can go unseen: CMPXCHG without LOCK
// loses an update only while another CPU is at it.
func TestToolchainInstructions(t *testing.T) {
	listings := make(map[string]string)
	for _, in := range instructions {
		if listings[in.arch] == "" {
			listings[in.arch] = disassemble(t, in.arch)
		}
		_, body, found := strings.Cut(listings[in.arch], "atomics."+in.function+"(SB) ")
		body, _, _ = strings.Cut(body, "\nTEXT ")
		body = strings.ReplaceAll(body, "\t", " ")
		switch {
		case !found:
			t.Errorf("%s: %s is not in the binary", in.arch, in.function)
		case !regexp.MustCompile(in.must).MatchString(body):
			t.Errorf("%s: %s has no %s:\n%s", in.arch, in.function, in.must, body)
		case in.never != "" && regexp.MustCompile(in.never).MatchString(body):
			t.Errorf("%s: %s has %s:\n%s", in.arch, in.function, in.never, body)
		}
	}
}

// disassemble returns the listing of this package in its test binary for arch.
func disassemble(t *testing.T, arch string) string {
	t.Helper()
	binary := testBinary(t, arch)
	out, err := goTool(t, nil, "tool", "objdump", "-s", `/atomics\.([a-z]|\(\*Uint32\))`, binary)
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return out
}

// testBinary builds the test binary of this package for arch, on Linux.
func testBinary(t *testing.T, arch string) string {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "atomics.test")
	out, err := goTool(t, []string{"GOOS=linux", "GOARCH=" + arch}, "test", "-c", "-o", binary, ".")
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return binary
}

// TestToolchainFiles fails if a build takes assembly that it should not.
func TestToolchainFiles(t *testing.T) {
	for _, b := range []struct{ arch, tags, want string }{
		{"amd64", "", "[cas_amd64.s clock_amd64.s spin_amd64.s storerelease_amd64.s]"},
		{"amd64", "race", "[cas_amd64.s clock_amd64.s spin_amd64.s]"},
		{"amd64", "systematic", "[cas_amd64.s clock_amd64.s]"},
		{"amd64", "purego", "[]"},
		{"arm64", "", "[cas_arm64.s clock_arm64.s spin_arm64.s]"},
		{"arm64", "systematic", "[cas_arm64.s clock_arm64.s]"},
		{"arm64", "purego", "[]"},
		{"386", "", "[]"},
		{"riscv64", "", "[]"},
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

// TestToolchainVetsCopies fails if go vet lets a word be copied.
func TestToolchainVetsCopies(t *testing.T) {
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	source := filepath.Join(dir, "copies.go")
	overlay := filepath.Join(dir, "overlay.json")
	replace, err := json.Marshal(map[string]any{"Replace": map[string]string{filepath.Join(here, "copies.go"): source}})
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string]string{
		source:  "package atomics\n\nfunc copies(a Uint32, b Uint64) {}\n",
		overlay: string(replace),
	} {
		if err := os.WriteFile(name, []byte(data), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, tags := range []string{"", "systematic"} {
		out, err := goTool(t, nil, "vet", "-overlay="+overlay, "-tags="+tags, ".")
		for _, word := range []string{"Uint32", "Uint64"} {
			if want := "copies passes lock by value: "; err == nil || !regexp.MustCompile(want+`\S*`+word).MatchString(out) {
				t.Errorf("tags %q: vet does not report the copy of a %s: %v\n%s", tags, word, err, out)
			}
		}
	}
}
