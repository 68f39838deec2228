package atomics

import (
	"regexp"
	"runtime"
	"strings"
	"testing"
)

// instructions lists the patterns that a function's disassembly must and must not match.
var instructions = []struct{ target, function, must, never string }{
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
	{"amd64", "pause.abi0", `PAUSE`, ``},
	// The whole loops of PollWhile: a load, a hint and the branch back to the load.
	{"amd64", "pollWhile32.abi0", `(?s) 8b0b MOVL 0\(BX\), CX .* 39c1 CMPL .* 7506 JNE .* PAUSE .* ffca DECL DX .* 75f4 JNE `, `LOCK|XCHG|CALL`},
	{"amd64", "pollWhile64.abi0", `(?s) 488b0b MOVQ 0\(BX\), CX .* 4839c1 CMPQ .* 7506 JNE .* PAUSE .* ffca DECL DX .* 75f2 JNE `, `LOCK|XCHG|CALL`},
	{"amd64", "ticks.abi0", `(?s)RDTSC.*SHLQ \$0x20, DX.*ORQ DX, AX`, ``},
	{"amd64", "compareAndSwap", `LOCK CMPXCHGL `, ``}, // CASName
	{"amd64", "(*Uint32).Store", `XCHGL `, ``},
	{"amd64", "(*Uint32).StoreRelease", `MOVL BX, 0\(AX\)`, `LOCK|XCHG|CALL`},
	{"amd64", "(*Uint64).StoreRelease", `MOVQ BX, 0\(AX\)`, `LOCK|XCHG|CALL`},
	// For compilers whose output was not checked, selected here by a tag.
	{"amd64 callrelease", "(*Uint32).StoreRelease", `CALL .*storeRelease32`, `LOCK|XCHG`},
	{"amd64 callrelease", "storeRelease32.abi0", `MOVL AX, 0\(BX\)`, `LOCK|XCHG`},
	{"amd64 callrelease", "storeRelease64.abi0", `MOVQ AX, 0\(BX\)`, `LOCK|XCHG`},

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
	{"arm64", "pollWhile32.abi0", `(?s)LDARW \(R0\), R3 .*BNE 4\(PC\) .*ISB .*SUBW \$1, R2, R2 .*CBNZW R2, -5\(PC\)`, ``},
	{"arm64", "pollWhile64.abi0", `(?s)LDAR \(R0\), R3 .*BNE 4\(PC\) .*ISB .*SUBW \$1, R2, R2 .*CBNZW R2, -5\(PC\)`, ``},
	{"arm64", "ticks.abi0", `(?s)ISB .*d53be040`, ``}, // MRS CNTVCT_EL0, R0
	{"arm64", "cntfrq.abi0", `d53be000`, ``},          // MRS CNTFRQ_EL0, R0
	// go tool objdump does not support FEAT_LSE. With the registers of cas_arm64.s these
	// are CASAL R3, R2, [R0], SWPAL and LDADDAL R2, R3, [R0].
	{"arm64", "casal32.abi0", `88e3fc02`, `LDAXR`},
	{"arm64", "casal64.abi0", `c8e3fc02`, `LDAXR`},
	{"arm64", "swpal32.abi0", `b8e28003`, `LDAXR`},
	{"arm64", "swpal64.abi0", `f8e28003`, `LDAXR`},
	{"arm64", "ldaddal32.abi0", `b8e20003`, `LDAXR`},
	{"arm64", "ldaddal64.abi0", `f8e20003`, `LDAXR`},
	{"arm64", "compareAndSwap", `(?s)88[ef].f[c-f].*LDAXRW .*STLXRW `, ``}, // CASName: CASALW, and without FEAT_LSE the pair
	{"arm64", "(*Uint32).StoreRelease", `STLRW `, ``},

	// Only the encoding shows the order of an instruction. Here LR has aq, SC rl, an AMO
	// both, and the fences are R, RW and RW, W.
	{"riscv64", "lrscCAS32.abi0", `(?s)140526af LRW .*1ac5272f SCW .*BNEZ `, ``},
	{"riscv64", "lrscCAS64.abi0", `(?s)140536af LRD .*1ac5372f SCD .*BNEZ `, ``},
	{"riscv64", "amoswap32.abi0", `0ec526af AMOSWAPW `, ``},
	{"riscv64", "amoswap64.abi0", `0ec536af AMOSWAPD `, ``},
	{"riscv64", "amoadd32.abi0", `06c526af AMOADDW `, ``},
	{"riscv64", "amoadd64.abi0", `06c536af AMOADDD `, ``},
	{"riscv64", "loadFence32.abi0", `(?s)MOVW \(X10\), X12.*0230000f FENCE.*MOVW X12`, ``},
	{"riscv64", "loadFence64.abi0", `(?s)MOV \(X10\), X12.*0230000f FENCE.*MOV X12`, ``},
	{"riscv64", "fenceStore32.abi0", `(?s)0310000f FENCE.*MOVW X12, \(X10\)`, ``},
	{"riscv64", "fenceStore64.abi0", `(?s)0310000f FENCE.*MOV X12, \(X10\)`, ``},
	{"riscv64", "pause.abi0", `0100000f `, ``},
	{"riscv64", "pollWhile32.abi0", `(?s)MOVW \(X10\), X12 .* 00b61763 BNE .* 0100000f .* fd16 ADDI .* fe069ae3 BNEZ .* 0230000f FENCE .*MOVW X12`, ``},
	{"riscv64", "pollWhile64.abi0", `(?s)MOV \(X10\), X12 .* 00b61763 BNE .* 0100000f .* fd16 ADDI .* fe069ae3 BNEZ .* 0230000f FENCE .*MOV X12`, ``},
	{"riscv64", "compareAndSwap", `(?s)LRW .*SCW `, ``}, // CASName

	// Here the hint of DBAR shows it: 0x10 full, 0x14 acquire, 0x12 release.
	{"loong64", "llscCAS32.abi0", `(?s)38720010 DBAR.*LL .*SC .*BEQ .*38720010 DBAR`, ``},
	{"loong64", "llscCAS64.abi0", `(?s)38720010 DBAR.*LLV .*SCV .*BEQ .*38720010 DBAR`, ``},
	{"loong64", "amcas32.abi0", `385b1887 AMCASDBW `, `LL`},
	{"loong64", "amcas64.abi0", `385b9887 AMCASDBV `, `LL`},
	{"loong64", "amswap32.abi0", `AMSWAPDBW `, ``},
	{"loong64", "amswap64.abi0", `AMSWAPDBV `, ``},
	{"loong64", "amadd32.abi0", `AMADDDBW `, ``},
	{"loong64", "amadd64.abi0", `AMADDDBV `, ``},
	{"loong64", "loadDbar32.abi0", `(?s)MOVW 0\(R4\), R6.*38720014 DBAR.*MOVW R6`, ``},
	{"loong64", "loadDbar64.abi0", `(?s)MOVV 0\(R4\), R6.*38720014 DBAR.*MOVV R6`, ``},
	{"loong64", "dbarStore32.abi0", `(?s)38720012 DBAR.*MOVW R6, 0\(R4\)`, ``},
	{"loong64", "dbarStore64.abi0", `(?s)38720012 DBAR.*MOVV R6, 0\(R4\)`, ``},
	{"loong64", "pollWhile32.abi0", `(?s)MOVW 0\(R4\), R6 .* 5c001cc5 BNE .* 47fffd1f BNE .* 02fffce7 ADDV .* 47ffe4ff BNE .* 38720014 DBAR .*MOVW R6`, ``},
	{"loong64", "pollWhile64.abi0", `(?s)MOVV 0\(R4\), R6 .* 5c001cc5 BNE .* 47fffd1f BNE .* 02fffce7 ADDV .* 47ffe4ff BNE .* 38720014 DBAR .*MOVV R6`, ``},
	{"loong64", "compareAndSwap", `(?s)AMCASDBW .*LL .*SC `, ``}, // CASName, for both kinds of CPU

	{"ppc64le", "larxCAS32.abi0", `(?s)LWSYNC.*LWAR .*STWCCC .*BNE .*LWSYNC`, ``},
	{"ppc64le", "larxCAS64.abi0", `(?s)LWSYNC.*LDAR .*STDCCC .*BNE .*LWSYNC`, ``},
	{"ppc64le", "larxSwap32.abi0", `(?s)LWSYNC.*LWAR .*STWCCC .*BNE .*LWSYNC`, ``},
	{"ppc64le", "larxSwap64.abi0", `(?s)LWSYNC.*LDAR .*STDCCC .*BNE .*LWSYNC`, ``},
	{"ppc64le", "larxAdd32.abi0", `(?s)LWSYNC.*LWAR .*STWCCC .*BNE .*LWSYNC`, ``},
	{"ppc64le", "larxAdd64.abi0", `(?s)LWSYNC.*LDAR .*STDCCC .*BNE .*LWSYNC`, ``},
	{"ppc64le", "loadIsync32.abi0", `(?s)MOVWZ 0\(R3\),R5.*CMPW R5,R5,CR7.*BNE CR7,.*ISYNC`, ``},
	{"ppc64le", "loadIsync64.abi0", `(?s)MOVD 0\(R3\),R5.*CMP R5,R5,CR7.*BNE CR7,.*ISYNC`, ``},
	{"ppc64le", "lwsyncStore32.abi0", `(?s)LWSYNC.*MOVW R5,0\(R3\)`, ``},
	{"ppc64le", "lwsyncStore64.abi0", `(?s)LWSYNC.*MOVD R5,0\(R3\)`, ``},
	// OR R1 and OR R6 set the priority, BC is BDNZ to itself.
	{"ppc64le", "pollWhile32.abi0", `(?s)MOVWZ 0\(R3\),R5 .*40820024 BNE .* 7c210b78 OR .* 42000000 BC .* 7cc63378 OR .* 4082ffd8 BNE .*CMPW R5,R5,CR7.*BNE CR7,.*ISYNC`, ``},
	{"ppc64le", "pollWhile64.abi0", `(?s)MOVD 0\(R3\),R5 .*40820024 BNE .* 7c210b78 OR .* 42000000 BC .* 7cc63378 OR .* 4082ffd8 BNE .*CMP R5,R5,CR7.*BNE CR7,.*ISYNC`, ``},
	{"ppc64le", "compareAndSwap", `(?s)LWAR .*STWCCC `, ``}, // CASName

	{"s390x", "pollWhile32.abi0", `(?s)MOVWZ \(R2\), R4 .*BNE 4\(PC\).* a7670000 BRCTG .* a757fff6 BRCTG `, ``},
	{"s390x", "pollWhile64.abi0", `(?s)MOVD \(R2\), R4 .*BNE 4\(PC\).* a7670000 BRCTG .* a757fff5 BRCTG `, ``},
	{"s390x", "cs32.abi0", `CS R3, R4, \(R2\)`, ``},
	{"s390x", "cs64.abi0", `CSG R3, R4, \(R2\)`, ``},
	{"s390x", "csSwap32.abi0", `(?s)CS R3, R4, \(R2\).*BNE `, ``},
	{"s390x", "csSwap64.abi0", `(?s)CSG R3, R4, \(R2\).*BNE `, ``},
	{"s390x", "laa32.abi0", `(?s)LAA R4, R5, \(R2\).*SYNC`, ``},
	{"s390x", "laa64.abi0", `(?s)LAAG R4, R5, \(R2\).*SYNC`, ``},
	{"s390x", "plainLoad32.abi0", `MOVWZ \(R2\), R4`, ``},
	{"s390x", "plainLoad64.abi0", `MOVD \(R2\), R4`, ``},
	{"s390x", "plainStore32.abi0", `MOVW R4, \(R2\)`, `SYNC`},
	{"s390x", "plainStore64.abi0", `MOVD R4, \(R2\)`, `SYNC`},
	{"s390x", "compareAndSwap", `CS R0, R4, \(R2\)`, ``}, // CASName
}

var blanks = regexp.MustCompile(`[ \t]+`)

// TestToolchainInstructions fails if a function lacks the instruction in its name. A test on
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
			listings[in.target] = disassemble(t, in.target)
		}
		_, body, found := strings.Cut(listings[in.target], "atomics."+in.function+"(SB) ")
		body, _, _ = strings.Cut(body, "\nTEXT ")
		body = blanks.ReplaceAllString(body, " ")
		switch {
		case !found:
			t.Errorf("%s: %s is not in the binary", in.target, in.function)
		case !regexp.MustCompile(in.must).MatchString(body):
			t.Errorf("%s: %s has no %s:\n%s", in.target, in.function, in.must, body)
		case in.never != "" && regexp.MustCompile(in.never).MatchString(body):
			t.Errorf("%s: %s has %s:\n%s", in.target, in.function, in.never, body)
		}
	}
}

func disassemble(t *testing.T, target string) string {
	t.Helper()
	arch, tags, _ := strings.Cut(target, " ")
	binary := testBinary(t, arch, tags)
	out, err := goTool(t, nil, "tool", "objdump", "-s", `/atomics\.([a-z]|\(\*Uint(32|64)\))`, binary)
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return out
}
