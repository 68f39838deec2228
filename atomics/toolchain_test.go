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

	"locklab/internal/require"
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

// testBinary leaves out go vet: make lint runs it on every architecture.
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
	for arch, files := range map[string]string{
		"amd64": "cas clock poll spin", "arm64": "cas clock poll spin", "loong64": "cas poll", "ppc64le": "cas poll",
		"riscv64": "cas poll spin", "s390x": "cas poll", "386": "", "ppc64": "",
	} {
		waits := strings.NewReplacer(" poll", "", " spin", "")
		want := map[string]string{"": files, "systematic": waits.Replace(files), "purego": ""}
		if arch == "amd64" {
			want["callrelease"], want["race"] = files+" storerelease", "cas clock spin"
		}
		for tags, names := range want {
			got, err := goTool(t, []string{"GOOS=linux", "GOARCH=" + arch}, "list", "-f={{join .SFiles \" \"}}", "-tags="+tags, ".")
			if err != nil {
				t.Fatalf("%v\n%s", err, got)
			}
			if got = strings.ReplaceAll(strings.TrimSpace(got), "_"+arch+".s", ""); got != names {
				t.Errorf("%s, tags %q: the assembly is %q, want %q", arch, tags, got, names)
			}
		}
	}
}

func overlayWith(t *testing.T, data string) string {
	t.Helper()
	here, err := os.Getwd()
	require.NoError(t, err)
	dir := t.TempDir()
	source := filepath.Join(dir, "added.go")
	overlay := filepath.Join(dir, "overlay.json")
	replace, err := json.Marshal(map[string]any{"Replace": map[string]string{filepath.Join(here, "added.go"): source}})
	require.NoError(t, err)
	for name, data := range map[string]string{source: data, overlay: string(replace)} {
		require.NoError(t, os.WriteFile(name, []byte(data), 0o600))
	}
	return "-overlay=" + overlay
}

// TestToolchainCacheLine fails if CacheLine is shorter than the padding of the Go runtime.
func TestToolchainCacheLine(t *testing.T) {
	root, err := goTool(t, nil, "env", "GOROOT")
	require.NoError(t, err)
	for arch, file := range map[string]string{"amd64": "x86", "arm64": "arm64", "loong64": "loong64", "ppc64le": "ppc64x", "riscv64": "riscv64", "s390x": "s390x"} {
		if testing.Short() && arch != runtime.GOARCH {
			continue // make test-all compiles for all
		}
		source, err := os.ReadFile(filepath.Join(strings.TrimSpace(root), "src/internal/cpu/cpu_"+file+".go"))
		require.NoError(t, err)
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

// instructions lists the patterns that a function's disassembly must and must not match.
var instructions = []struct {
	target, function string // %d in the name of a function is 32 and 64
	must, must64     string // must64 is for 64 bits, and empty for a function without %d
	never            string
}{
	{"amd64", "asmCAS%d.abi0", `LOCK CMPXCHGL `, `LOCK CMPXCHGQ `, ``},
	{"amd64", "asmSwap%d.abi0", `XCHGL `, `XCHGQ `, ``},
	{"amd64", "asmAdd%d.abi0", `LOCK XADDL `, `LOCK XADDQ `, ``},
	{"amd64", "asmLoad%d.abi0", `MOVL 0\(BX\), CX`, `MOVQ 0\(BX\), CX`, `LOCK|XCHG`},
	{"amd64", "asmStore%d.abi0", `MOVL CX, 0\(BX\)`, `MOVQ CX, 0\(BX\)`, `LOCK|XCHG`},
	{"amd64", "pause.abi0", `PAUSE`, ``, ``},
	// The whole loops of PollWhile: a load, a hint and the branch back to the load.
	{"amd64", "pollWhile%d.abi0", `(?s) 8b0b MOVL 0\(BX\), CX .* 39c1 CMPL .* 7506 JNE .* PAUSE .* ffca DECL DX .* 75f4 JNE `, `(?s) 488b0b MOVQ 0\(BX\), CX .* 4839c1 CMPQ .* 7506 JNE .* PAUSE .* ffca DECL DX .* 75f2 JNE `, `LOCK|XCHG|CALL`},
	{"amd64", "ticks.abi0", `(?s)RDTSC.*SHLQ \$0x20, DX.*ORQ DX, AX`, ``, ``},
	{"amd64", "compareAndSwap", `LOCK CMPXCHGL `, ``, ``}, // CASName
	{"amd64", "(*Uint32).Store", `XCHGL `, ``, ``},
	{"amd64", "(*Uint%d).StoreRelease", `MOVL BX, 0\(AX\)`, `MOVQ BX, 0\(AX\)`, `LOCK|XCHG|CALL`},
	// For compilers whose output was not checked, selected here by a tag.
	{"amd64 callrelease", "(*Uint32).StoreRelease", `CALL .*storeRelease32`, ``, `LOCK|XCHG`},
	{"amd64 callrelease", "storeRelease%d.abi0", `MOVL AX, 0\(BX\)`, `MOVQ AX, 0\(BX\)`, `LOCK|XCHG`},

	{"arm64", "asmCAS%d.abi0", `(?s)LDAXRW .*STLXRW `, `(?s)LDAXR .*STLXR `, ``},
	{"arm64", "asmSwap%d.abi0", `(?s)LDAXRW .*STLXRW `, `(?s)LDAXR .*STLXR `, ``},
	{"arm64", "asmAdd%d.abi0", `(?s)LDAXRW .*STLXRW `, `(?s)LDAXR .*STLXR `, ``},
	{"arm64", "asmLoad%d.abi0", `LDARW `, `LDAR `, ``},
	{"arm64", "asmStore%d.abi0", `STLRW `, `STLR `, ``},
	{"arm64", "pause.abi0", `ISB `, ``, ``},
	{"arm64", "pollWhile%d.abi0", `(?s)LDARW \(R0\), R3 .*BNE 4\(PC\) .*ISB .*SUBW \$1, R2, R2 .*CBNZW R2, -5\(PC\)`, `(?s)LDAR \(R0\), R3 .*BNE 4\(PC\) .*ISB .*SUBW \$1, R2, R2 .*CBNZW R2, -5\(PC\)`, ``},
	{"arm64", "ticks.abi0", `(?s)ISB .*d53be040`, ``, ``}, // MRS CNTVCT_EL0, R0
	{"arm64", "cntfrq.abi0", `d53be000`, ``, ``},          // MRS CNTFRQ_EL0, R0
	// go tool objdump does not support FEAT_LSE. With the registers of cas_arm64.s these
	// are CASAL R3, R2, [R0], SWPAL and LDADDAL R2, R3, [R0].
	{"arm64", "casal%d.abi0", `88e3fc02`, `c8e3fc02`, `LDAXR`},
	{"arm64", "swpal%d.abi0", `b8e28003`, `f8e28003`, `LDAXR`},
	{"arm64", "ldaddal%d.abi0", `b8e20003`, `f8e20003`, `LDAXR`},
	{"arm64", "compareAndSwap", `(?s)88[ef].f[c-f].*LDAXRW .*STLXRW `, ``, ``}, // CASName: CASALW, and without FEAT_LSE the pair
	{"arm64", "(*Uint32).StoreRelease", `STLRW `, ``, ``},

	// Only the encoding shows the order of an instruction. Here LR has aq, SC rl, an AMO
	// both, and the fences are R, RW and RW, W.
	{"riscv64", "asmCAS%d.abi0", `(?s)140526af LRW .*1ac5272f SCW .*BNEZ `, `(?s)140536af LRD .*1ac5372f SCD .*BNEZ `, ``},
	{"riscv64", "asmSwap%d.abi0", `0ec526af AMOSWAPW `, `0ec536af AMOSWAPD `, ``},
	{"riscv64", "asmAdd%d.abi0", `06c526af AMOADDW `, `06c536af AMOADDD `, ``},
	{"riscv64", "asmLoad%d.abi0", `(?s)MOVW \(X10\), X12.*0230000f FENCE.*MOVW X12`, `(?s)MOV \(X10\), X12.*0230000f FENCE.*MOV X12`, ``},
	{"riscv64", "asmStore%d.abi0", `(?s)0310000f FENCE.*MOVW X12, \(X10\)`, `(?s)0310000f FENCE.*MOV X12, \(X10\)`, ``},
	{"riscv64", "pause.abi0", `0100000f `, ``, ``},
	{"riscv64", "pollWhile%d.abi0", `(?s)MOVW \(X10\), X12 .* 00b61763 BNE .* 0100000f .* fd16 ADDI .* fe069ae3 BNEZ .* 0230000f FENCE .*MOVW X12`, `(?s)MOV \(X10\), X12 .* 00b61763 BNE .* 0100000f .* fd16 ADDI .* fe069ae3 BNEZ .* 0230000f FENCE .*MOV X12`, ``},
	{"riscv64", "compareAndSwap", `(?s)LRW .*SCW `, ``, ``}, // CASName

	// Here the hint of DBAR shows it: 0x10 full, 0x14 acquire, 0x12 release.
	{"loong64", "asmCAS%d.abi0", `(?s)38720010 DBAR.*LL .*SC .*BEQ .*38720010 DBAR`, `(?s)38720010 DBAR.*LLV .*SCV .*BEQ .*38720010 DBAR`, ``},
	{"loong64", "amcas%d.abi0", `385b1887 AMCASDBW `, `385b9887 AMCASDBV `, `LL`},
	{"loong64", "asmSwap%d.abi0", `AMSWAPDBW `, `AMSWAPDBV `, ``},
	{"loong64", "asmAdd%d.abi0", `AMADDDBW `, `AMADDDBV `, ``},
	{"loong64", "asmLoad%d.abi0", `(?s)MOVW 0\(R4\), R6.*38720014 DBAR.*MOVW R6`, `(?s)MOVV 0\(R4\), R6.*38720014 DBAR.*MOVV R6`, ``},
	{"loong64", "asmStore%d.abi0", `(?s)38720012 DBAR.*MOVW R6, 0\(R4\)`, `(?s)38720012 DBAR.*MOVV R6, 0\(R4\)`, ``},
	{"loong64", "pollWhile%d.abi0", `(?s)MOVW 0\(R4\), R6 .* 5c001cc5 BNE .* 47fffd1f BNE .* 02fffce7 ADDV .* 47ffe4ff BNE .* 38720014 DBAR .*MOVW R6`, `(?s)MOVV 0\(R4\), R6 .* 5c001cc5 BNE .* 47fffd1f BNE .* 02fffce7 ADDV .* 47ffe4ff BNE .* 38720014 DBAR .*MOVV R6`, ``},
	{"loong64", "compareAndSwap", `(?s)AMCASDBW .*LL .*SC `, ``, ``}, // CASName, for both kinds of CPU

	{"ppc64le", "asmCAS%d.abi0", `(?s)LWSYNC.*LWAR .*STWCCC .*BNE .*LWSYNC`, `(?s)LWSYNC.*LDAR .*STDCCC .*BNE .*LWSYNC`, ``},
	{"ppc64le", "asmSwap%d.abi0", `(?s)LWSYNC.*LWAR .*STWCCC .*BNE .*LWSYNC`, `(?s)LWSYNC.*LDAR .*STDCCC .*BNE .*LWSYNC`, ``},
	{"ppc64le", "asmAdd%d.abi0", `(?s)LWSYNC.*LWAR .*STWCCC .*BNE .*LWSYNC`, `(?s)LWSYNC.*LDAR .*STDCCC .*BNE .*LWSYNC`, ``},
	{"ppc64le", "asmLoad%d.abi0", `(?s)MOVWZ 0\(R3\),R5.*CMPW R5,R5,CR7.*BNE CR7,.*ISYNC`, `(?s)MOVD 0\(R3\),R5.*CMP R5,R5,CR7.*BNE CR7,.*ISYNC`, ``},
	{"ppc64le", "asmStore%d.abi0", `(?s)LWSYNC.*MOVW R5,0\(R3\)`, `(?s)LWSYNC.*MOVD R5,0\(R3\)`, ``},
	// OR R1 and OR R6 set the priority, BC is BDNZ to itself.
	{"ppc64le", "pollWhile%d.abi0", `(?s)MOVWZ 0\(R3\),R5 .*40820024 BNE .* 7c210b78 OR .* 42000000 BC .* 7cc63378 OR .* 4082ffd8 BNE .*CMPW R5,R5,CR7.*BNE CR7,.*ISYNC`, `(?s)MOVD 0\(R3\),R5 .*40820024 BNE .* 7c210b78 OR .* 42000000 BC .* 7cc63378 OR .* 4082ffd8 BNE .*CMP R5,R5,CR7.*BNE CR7,.*ISYNC`, ``},
	{"ppc64le", "compareAndSwap", `(?s)LWAR .*STWCCC `, ``, ``}, // CASName

	{"s390x", "pollWhile%d.abi0", `(?s)MOVWZ \(R2\), R4 .*BNE 4\(PC\).* a7670000 BRCTG .* a757fff6 BRCTG `, `(?s)MOVD \(R2\), R4 .*BNE 4\(PC\).* a7670000 BRCTG .* a757fff5 BRCTG `, ``},
	{"s390x", "asmCAS%d.abi0", `CS R3, R4, \(R2\)`, `CSG R3, R4, \(R2\)`, ``},
	{"s390x", "asmSwap%d.abi0", `(?s)CS R3, R4, \(R2\).*BNE `, `(?s)CSG R3, R4, \(R2\).*BNE `, ``},
	{"s390x", "asmAdd%d.abi0", `(?s)LAA R4, R5, \(R2\).*SYNC`, `(?s)LAAG R4, R5, \(R2\).*SYNC`, ``},
	{"s390x", "asmLoad%d.abi0", `MOVWZ \(R2\), R4`, `MOVD \(R2\), R4`, ``},
	{"s390x", "asmStore%d.abi0", `MOVW R4, \(R2\)`, `MOVD R4, \(R2\)`, `SYNC`},
	{"s390x", "compareAndSwap", `CS R0, R4, \(R2\)`, ``, ``}, // CASName
}

var blanks = regexp.MustCompile(`[ \t]+`)

// TestToolchainInstructions fails if a function lacks its instruction. A test on
// one CPU may not notice: CMPXCHG without LOCK works there.
func TestToolchainInstructions(t *testing.T) {
	if raceEnabled {
		t.Skip("the programs that it disassembles are built without the race detector")
	}
	listings := make(map[string]string)
	for _, in := range instructions {
		if testing.Short() && in.target != runtime.GOARCH {
			continue // make test-all disassembles all, with all tags
		}
		if listings[in.target] == "" {
			listings[in.target] = disassembleTarget(t, in.target)
		}
		requireInstructions(t, listings[in.target], in.target, strings.ReplaceAll(in.function, "%d", "32"), in.must, in.never)
		if in.must64 != "" {
			requireInstructions(t, listings[in.target], in.target, strings.ReplaceAll(in.function, "%d", "64"), in.must64, in.never)
		}
	}
}

func requireInstructions(t *testing.T, listing, target, function, must, never string) {
	t.Helper()
	body, found := functionBody(listing, function)
	switch {
	case !found:
		t.Errorf("%s: %s is not in the binary", target, function)
	case !regexp.MustCompile(must).MatchString(body):
		t.Errorf("%s: %s has no %s:\n%s", target, function, must, body)
	case never != "" && regexp.MustCompile(never).MatchString(body):
		t.Errorf("%s: %s has %s:\n%s", target, function, never, body)
	}
}

func functionBody(listing, function string) (body string, found bool) {
	_, body, found = strings.Cut(listing, "atomics."+function+"(SB) ")
	body, _, _ = strings.Cut(body, "\nTEXT ")
	return blanks.ReplaceAllString(body, " "), found
}

func disassembleTarget(t *testing.T, target string) string {
	t.Helper()
	arch, tags, _ := strings.Cut(target, " ")
	binary := testBinary(t, arch, tags)
	out, err := goTool(t, nil, "tool", "objdump", "-s", `/atomics\.([a-z]|\(\*Uint(32|64)\))`, binary)
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return out
}
