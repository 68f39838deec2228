package evidence

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"locklab/atomics"
	"locklab/harness/locktest"
	"locklab/harness/result"
	"locklab/internal/qemu"
	"locklab/internal/require"
)

type fact struct {
	name, operation string
	marked          string // a pattern of their mnemonics, in order, joined by blanks
}

// facts are by architecture; those of sync/atomic are the output of gc, with or without LSE.
var facts = map[string][]fact{
	"amd64": {
		{"sync-atomic", "CompareAndSwap32", `LOCK CMPXCHGL`},
		{"sync-atomic", "Swap32", `XCHGL`},
		{"sync-atomic", "Add32", `LOCK XADDL`},
		{"sync-atomic", "LoadAcquire32", ``},
		{"sync-atomic", "StoreRelease32", `XCHGL`},
		{"lock-cmpxchg", "CompareAndSwap32", `LOCK CMPXCHGL`},
		{"lock-cmpxchg", "Swap32", `XCHGL`},
		{"lock-cmpxchg", "Add32", `LOCK XADDL`},
		{"lock-cmpxchg", "LoadAcquire32", ``},
		{"lock-cmpxchg", "StoreRelease32", ``},
	},
	"arm64": {
		{"sync-atomic", "CompareAndSwap32", `CASALW( LDAXRW STLXRW)?`},
		{"sync-atomic", "Swap32", `SWPALW( LDAXRW STLXRW)?`},
		{"sync-atomic", "Add32", `LDADDALW( LDAXRW STLXRW)?`},
		{"sync-atomic", "StoreRelease32", ``},
		{"ldaxr-stlxr", "CompareAndSwap32", `LDAXRW STLXRW`},
		{"ldaxr-stlxr", "Swap32", `LDAXRW STLXRW`},
		{"ldaxr-stlxr", "Add32", `LDAXRW STLXRW`},
		{"ldaxr-stlxr", "StoreRelease32", ``},
		{"casal", "CompareAndSwap32", `CASALW`},
		{"casal", "Swap32", `SWPALW`},
		{"casal", "Add32", `LDADDALW`},
	},
	"riscv64": {
		{"sync-atomic", "CompareAndSwap32", `LRW.AQ SCW.RL`},
		{"sync-atomic", "StoreRelease32", `AMOSWAPW.AQRL`},
		{"lr-sc", "CompareAndSwap32", `LRW.AQ SCW.RL`},
		{"lr-sc", "Add32", `AMOADDW.AQRL`},
		{"lr-sc", "StoreRelease32", ``},
	},
	"ppc64le": {
		{"sync-atomic", "CompareAndSwap32", `LWAR STWCCC`},
		{"sync-atomic", "StoreRelease32", ``},
		{"lwarx-stwcx", "CompareAndSwap32", `LWAR STWCCC`},
		{"lwarx-stwcx", "StoreRelease32", ``},
	},
	"s390x": {
		{"sync-atomic", "CompareAndSwap32", `CS`},
		{"sync-atomic", "Add32", `LAA`},
		{"sync-atomic", "StoreRelease32", ``},
		{"cs", "CompareAndSwap32", `CS`},
		{"cs", "StoreRelease32", ``},
	},
	"loong64": {
		{"sync-atomic", "CompareAndSwap32", `AMCASDBW LL SC`},
		{"sync-atomic", "StoreRelease32", `AMSWAPDBW`},
		{"ll-sc", "CompareAndSwap32", `LL SC`},
		{"ll-sc", "StoreRelease32", ``},
		{"amcas-db", "CompareAndSwap32", `AMCASDBW`},
	},
}

func captureListings(t *testing.T) []Listing {
	t.Helper()
	ls, err := Capture()
	if native == nil && errors.Is(err, ErrUnsupported) {
		t.Skip(err)
	}
	require.NoError(t, err)
	return ls
}

func TestFacts(t *testing.T) {
	ls := captureListings(t)
	for _, f := range facts[runtime.GOARCH] {
		t.Run(f.name+"/"+f.operation, func(t *testing.T) {
			switch {
			case f.name == atomics.Reference.Name && locktest.RaceDetector:
				t.Skip("under -race sync/atomic is a call of the detector")
			case f.name == atomics.Reference.Name && testing.CoverMode() != "":
				t.Skip("under -cover the counters of the coverage are in the listing")
			case f.name != atomics.Reference.Name && len(atomics.Suite) == 1:
				t.Skip("this build has no assembly")
			}
			l := findListing(t, ls, f.name, f.operation)
			if got := markListing(l); !regexp.MustCompile("^(" + f.marked + ")$").MatchString(got) {
				t.Errorf("the marked instructions are %q, want %q:\n%s", got, f.marked, l)
			}
		})
	}
}

// TestPrimitives: an operation that reads and writes has a marked instruction, and its listing
// ends in a return.
func TestPrimitives(t *testing.T) {
	ls := captureListings(t)
	require.Equal(t, "listings", len(ls), 5*len(atomics.Suite))
	for _, l := range ls {
		if l.Name == atomics.Reference.Name && locktest.RaceDetector {
			continue // TestFacts gives the reason
		}
		if len(l.Lines) == 0 {
			t.Errorf("%s %s is empty", l.Name, l.Operation)
			continue
		}
		switch l.Operation {
		case "CompareAndSwap32", "Swap32", "Add32":
			if markListing(l) == "" {
				t.Errorf("nothing is marked:\n%s", l)
			}
		}
		if last := l.Lines[len(l.Lines)-1].Text; last != "RET" {
			t.Errorf("it ends in %q, not in RET:\n%s", last, l)
		}
		for _, line := range l.Lines {
			if strings.HasPrefix(line.Text, "WORD") || strings.HasPrefix(line.Text, "BYTE") {
				t.Errorf("%x is not decoded:\n%s", line.Bytes, l)
			}
			if strings.Contains(line.Text, l.Source+"(SB)") {
				t.Errorf("this is a wrapper:\n%s", l)
			}
			if line.Atomic && line.Note == "" {
				t.Errorf("%s has no note", line.Text)
			}
		}
	}
}

func findListing(t *testing.T, ls []Listing, name, operation string) Listing {
	t.Helper()
	i := slices.IndexFunc(ls, func(l Listing) bool { return l.Name == name && l.Operation == operation })
	if i < 0 {
		t.Fatalf("no listing of %s %s", name, operation)
	}
	return ls[i]
}

func markListing(l Listing) string {
	var ops []string
	for _, line := range l.Lines {
		if line.Atomic {
			ops = append(ops, regexp.MustCompile(`^(LOCK )?\S+`).FindString(line.Text))
		}
	}
	return strings.Join(ops, " ")
}

func TestUnsupported(t *testing.T) {
	ls, err := capture(nil)
	if !errors.Is(err, ErrUnsupported) || !errors.Is(err, errors.ErrUnsupported) || len(ls) > 0 || !strings.Contains(err.Error(), runtime.GOARCH) {
		t.Errorf("%d listings, error %v", len(ls), err)
	}
}

func TestUndecoded(t *testing.T) {
	ignorant := func([]byte, uint64, func(uint64) (string, uint64)) (string, int) { return "", 0 }
	words := binary.NativeEndian.AppendUint32(nil, 0x88e0fc41)
	words = binary.NativeEndian.AppendUint32(words, 1)
	for _, c := range []struct {
		quantum int
		code    []byte
		want    string
	}{
		{4, words, "WORD $0x88e0fc41|WORD $0x00000001"},
		{2, []byte{0x80, 0x82, 0x07}, "BYTE $0x8082|BYTE $0x07"},
	} {
		a := &isa{padding: make([]byte, c.quantum), decode: ignorant}
		got := result.Each(a.lines(c.code, nil), func(l Line) string { return l.Text })
		require.Equal(t, "the text", strings.Join(got, "|"), c.want)
	}
}

func FuzzLines(f *testing.F) {
	if native == nil {
		f.Skip("no decoder for this architecture")
	}
	f.Add(text(locate(atomics.Suite[len(atomics.Suite)-1].Word32.CompareAndSwap)))
	f.Add([]byte{0xf0, 0x0f, 0xb1})
	f.Add([]byte{0x41, 0xfc, 0xe0, 0x88})
	f.Fuzz(func(t *testing.T, code []byte) {
		var all []byte
		for _, line := range native.lines(code, func(uint64) (string, uint64) { return "", 0 }) {
			if line.Offset != len(all) || line.Text == "" {
				t.Errorf("line %+v stands at %d", line, len(all))
			}
			all = append(all, line.Bytes...)
		}
		if !bytes.Equal(all, code) {
			t.Errorf("decoded %x of %x", all, code)
		}
	})
}

func TestLSE(t *testing.T) {
	for _, c := range []struct {
		word uint32
		want string
	}{
		{0x88e0fc41, "CASALW R0, (R2), R1"},
		{0x88e3fc02, "CASALW R3, (R0), R2"},
		{0xc8e3fc02, "CASALD R3, (R0), R2"},
		{0xc8fbfc02, "CASALD R27, (R0), R2"},
		{0x88a07c41, "CASW R0, (R2), R1"},
		{0x88e07c41, "CASAW R0, (R2), R1"},
		{0x88a0fc41, "CASLW R0, (R2), R1"},
		{0x08e0fc41, "CASALB R0, (R2), R1"},
		{0x48e0fc41, "CASALH R0, (R2), R1"},
		{0xb8e28003, "SWPALW R2, (R0), R3"},
		{0xf8e28003, "SWPALD R2, (R0), R3"},
		{0xf8a28003, "SWPAD R2, (R0), R3"},
		{0xf8628003, "SWPLD R2, (R0), R3"},
		{0xb8e20003, "LDADDALW R2, (R0), R3"},
		{0xf8e20003, "LDADDALD R2, (R0), R3"},
		{0xf8221003, "LDCLRD R2, (R0), R3"},
		{0xf8e22003, "LDEORALD R2, (R0), R3"},
		{0xf8e23003, "LDORALD R2, (R0), R3"},
		{0xf83f03ff, "LDADDD ZR, (RSP), ZR"},

		{0x885ffc03, ""}, // LDAXRW (R0), R3
		{0x8804fc02, ""}, // STLXRW R2, (R0), R4
		{0x889ffc02, ""}, // STLRW R2, (R0)
		{0x48207c82, ""}, // CASPD: a pair
		{0xf8e24003, ""}, // LDSMAXALD: a maximum; unused by the locks here
		{0xd65f03c0, ""}, // RET
		{0, ""},
	} {
		if got := lse(c.word); got != c.want {
			t.Errorf("%#08x is %q, want %q", c.word, got, c.want)
		}
	}
}

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
	require.NoError(t, err)
	defer file.Close()
	if symbols, err := file.Symbols(); !errors.Is(err, elf.ErrNoSymbols) {
		t.Errorf("the binary has %d symbols, error %v", len(symbols), err)
	}
	return binary
}
