package atomics

import (
	"reflect"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"unsafe"
)

// primitiveName excludes names that end in -digits, which benchmark tools read as GOMAXPROCS.
var primitiveName = regexp.MustCompile(`^[a-z][a-z0-9]*(-[a-z0-9]*[a-z][a-z0-9]*)*$`)

func TestSuiteIsValid(t *testing.T) {
	if Suite[0] != Reference {
		t.Error("the first primitive is not the reference")
	}
	seen := make(map[string]bool)
	for _, p := range Suite {
		if seen[p.Name] || !primitiveName.MatchString(p.Name) {
			t.Errorf("the name %q is taken or malformed", p.Name)
		}
		seen[p.Name] = true
		for _, part := range []any{*p, p.Word32, p.Word64} {
			fields := reflect.ValueOf(part)
			for i := range fields.NumField() {
				if fields.Field(i).IsZero() {
					t.Errorf("%s has no %s", p.Name, fields.Type().Field(i).Name)
				}
			}
		}
	}
}

func TestPrimitive(t *testing.T) {
	for _, p := range Suite {
		t.Run(p.Name, func(t *testing.T) {
			if !p.Available() {
				t.Skipf("this CPU lacks %s", p.Insn)
			}
			if err := checkPrimitive(p, p == Reference); err != nil {
				t.Error(err)
			}
		})
	}
}

func FuzzPrimitive(f *testing.F) {
	f.Add([]byte("\x02\x0f12345678\x00\x00abcdefgh\x01\x02ABCDEFGH\x04\x0f87654321\x03\x00hgfedcba"))
	f.Fuzz(func(t *testing.T, script []byte) {
		for _, p := range Suite {
			if !p.Available() {
				continue // TestPrimitive reports it
			}
			if err := compareWithReference(p, script); err != nil {
				t.Errorf("%s: %v", p.Name, err)
			}
		}
	})
}

var mutants = map[string]struct {
	change func(*Primitive)
	want   string // in the error
	races  bool   // breaks the lock, which the race detector would report
}{
	"swap without comparing": {want: "CompareAndSwap", change: func(p *Primitive) {
		p.Word32.CompareAndSwap = func(p *uint32, _, new uint32) bool { atomic.StoreUint32(p, new); return true }
	}},
	"compare half of the word": {want: "CompareAndSwap", change: func(p *Primitive) {
		p.Word64.CompareAndSwap = func(p *uint64, old, new uint64) bool {
			v := atomic.LoadUint64(p)
			return uint32(v) == uint32(old) && atomic.CompareAndSwapUint64(p, v, new)
		}
	}},
	"write the neighbour": {want: "StoreRelease", change: func(p *Primitive) {
		p.Word32.StoreRelease = func(p *uint32, v uint32) { *p, *(*uint32)(unsafe.Add(unsafe.Pointer(p), 4)) = v, 0 }
	}},
	"drop the store": {want: "StoreRelease", change: func(p *Primitive) {
		p.Word64.StoreRelease = func(*uint64, uint64) {}
	}},
	"return the old sum": {want: "Add", change: func(p *Primitive) {
		p.Word32.Add = func(p *uint32, delta uint32) uint32 { return atomic.AddUint32(p, delta) - delta }
	}},
	"return the new value": {want: "Swap", change: func(p *Primitive) {
		p.Word64.Swap = func(p *uint64, new uint64) uint64 { atomic.SwapUint64(p, new); return new }
	}},
	"load half of the word": {want: "LoadAcquire", change: func(p *Primitive) {
		p.Word64.LoadAcquire = func(p *uint64) uint64 { return uint64(uint32(atomic.LoadUint64(p))) }
	}},
	"compare, then swap": {want: "CompareAndSwap, 32 bits, 4 goroutines", races: true, change: func(p *Primitive) {
		p.Word32.CompareAndSwap = func(p *uint32, old, new uint32) bool {
			if atomic.LoadUint32(p) != old {
				return false
			}
			runtime.Gosched()
			atomic.StoreUint32(p, new)
			return true
		}
	}},
	"take a free lock without care": {want: "lock, 64 bits, 4 goroutines", races: true, change: func(p *Primitive) {
		p.Word64.CompareAndSwap = func(p *uint64, old, new uint64) bool {
			if old != 0 || new != 1 {
				return atomic.CompareAndSwapUint64(p, old, new)
			}
			free := atomic.LoadUint64(p) == 0
			runtime.Gosched()
			if free {
				atomic.StoreUint64(p, new)
			}
			return free
		}
	}},
	"load, then add": {want: "Add, 32 bits, 4 goroutines", change: func(p *Primitive) {
		p.Word32.Add = func(p *uint32, delta uint32) uint32 {
			v := atomic.LoadUint32(p) + delta
			runtime.Gosched()
			atomic.StoreUint32(p, v)
			return v
		}
	}},
	"load, then store": {want: "Swap, 64 bits, 4 goroutines", change: func(p *Primitive) {
		p.Word64.Swap = func(p *uint64, new uint64) uint64 {
			v := atomic.LoadUint64(p)
			runtime.Gosched()
			atomic.StoreUint64(p, new)
			return v
		}
	}},
}

func TestCheckRejects(t *testing.T) {
	for name, m := range mutants {
		t.Run(strings.ReplaceAll(name, ", ", " "), func(t *testing.T) {
			if m.races && raceEnabled {
				t.Skip("it breaks a lock on purpose, which the race detector reports; it runs without -race")
			}
			p := *Reference
			m.change(&p)
			if err := checkPrimitive(&p, true); err == nil || !strings.Contains(err.Error(), m.want) {
				t.Errorf("check says %v, want %q", err, m.want)
			}
		})
	}
}

// TestBest: the suite has the instructions that the compiler emits for the words on this CPU.
func TestBest(t *testing.T) {
	i := slices.IndexFunc(Suite[1:], func(p *Primitive) bool { return p.Insn == CASName() && p.Available() })
	if i < 0 && len(Suite) > 1 {
		t.Errorf("no available primitive compares and swaps by %s, as the words do", CASName())
	}
	t.Logf("%s/%s: CASName is %s, Best is %s", runtime.GOOS, runtime.GOARCH, CASName(), Suite[i+1].Name) // i is -1 for the reference
}
