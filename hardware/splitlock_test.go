package hardware

import (
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"os"
	"runtime"
	"strings"
	"testing"
	"testing/fstest"
	"time"
	"unsafe"

	"locklab/internal/machine"
)

// harmlessPlan runs the experiment on little memory and inside lines, to disturb nobody.
func harmlessPlan() splitPlan {
	places := []splitPlace{{"aligned", 0}, {"4 bytes off", 4}, {"8 bytes off", 8}}
	return splitPlan{places: places, inside: places[0], across: places[1], levels: []footprint{{"L1", 1 << 11, 1 << 14}, {"L2", 1 << 12, 1 << 13}, {"memory", 1 << 16, 1 << 10}}}
}

func skipSplitLock(t *testing.T) {
	t.Helper()
	if err := splitLockAvailable(); err != nil {
		t.Skip(err)
	}
}

// TestSplitPlaces checks that the list has places of both kinds, as the answer needs, and
// that the two disturbing places match their names.
func TestSplitPlaces(t *testing.T) {
	plan := splitLockPlan()
	if plan.inside.splits() || !plan.across.splits() || plan.places[0].splits() || plan.places[0].offset%operandSize != 0 {
		t.Errorf("plan %+v", plan)
	}
	for offset := range pageBytes {
		p := splitPlace{offset: offset}
		if last := offset + operandSize - 1; p.splits() != (offset/lineBytes != last/lineBytes) {
			t.Errorf("from %d to %d: splits is %v", offset, last, p.splits())
		}
	}
	for _, p := range plan.places {
		page := alignedBytes(2*pageBytes, pageBytes)
		first := uintptr(unsafe.Pointer(&page[p.offset]))
		last := uintptr(unsafe.Pointer(&page[p.offset+operandSize-1]))
		if two := first/lineBytes != last/lineBytes; two != p.splits() || two != strings.HasPrefix(p.name, "across two") {
			t.Errorf("%s: from %#x to %#x, splits is %v", p.name, first, last, p.splits())
		}
		if two := first/pageBytes != last/pageBytes; two != strings.Contains(p.name, "pages") {
			t.Errorf("%s: from %#x to %#x", p.name, first, last)
		}
	}
}

// TestSplitAccessesCount: each access adds one at any place, and writes nothing else.
func TestSplitAccessesCount(t *testing.T) {
	skipSplitLock(t)
	const before = uint64(1<<32 - 2) // it carries into the upper half
	locked := 0
	for _, a := range splitAccesses {
		if a.locked {
			locked++
		}
		for _, p := range splitLockPlan().places {
			page := alignedBytes(2*pageBytes, pageBytes)
			binary.LittleEndian.PutUint64(page[p.offset:], before)
			a.run(&page[p.offset], 3)
			if got := binary.LittleEndian.Uint64(page[p.offset:]); got != before+3 {
				t.Errorf("%s %s: 3 accesses make %#x of %#x", a.name, p.name, got, before)
			}
			clear(page[p.offset:][:operandSize])
			for i, v := range page {
				if v != 0 {
					t.Errorf("%s %s: byte %d is %d", a.name, p.name, i, v)
				}
			}
		}
	}
	if locked == 0 || locked == len(splitAccesses) {
		t.Errorf("%d of %d accesses are locked", locked, len(splitAccesses))
	}
}

// TestSplitAccessesAreLocked: two threads lose nothing with LOCK, and something without.
func TestSplitAccessesAreLocked(t *testing.T) {
	skipSplitLock(t)
	c := pairApart(t)
	lost := func(a splitAccess) uint64 {
		const n = 1 << 16
		page := alignedBytes(pageBytes, pageBytes)
		c.step(func(int) { a.run(&page[4], n) })
		return 2*n - binary.LittleEndian.Uint64(page[4:])
	}
	for _, a := range splitAccesses {
		if !strings.Contains(a.name, "CMPXCHG") { // it counts tries, not successes
			requireOutcome(t, a.name, !a.locked, func() uint64 { return lost(a) })
		}
	}
}

func TestSizeBoundsACall(t *testing.T) {
	for _, test := range []struct {
		name   string
		access time.Duration // time of one access
		least  uint64        // bounds of the final size
		most   uint64
	}{
		{"nothing", 0, mostCalls, mostCalls},
		{"slow", time.Second, 1, 1},
	} {
		var p callSize
		for range 30 {
			p.call(func(n uint64) {
				if test.access > 0 {
					time.Sleep(2 * longCall) // for any n
				}
			})
		}
		if p.n < test.least || p.n > test.most {
			t.Errorf("%s: settles at %d", test.name, p.n)
		}
		if _, n, steady := p.call(func(uint64) {}); n != test.least || steady != (n == mostCalls) {
			t.Errorf("%s: then %d accesses, steady %v", test.name, n, steady)
		}
	}
	p := callSize{n: 64}
	if _, n, steady := p.call(func(uint64) { time.Sleep(2 * longCall) }); n != 64 || steady || p.n != 32 {
		t.Errorf("a slow call of %d leads to %d, steady %v", n, p.n, steady)
	}
}

func TestChainVisitsEveryLine(t *testing.T) {
	for _, lines := range []int{1, 2, 3, 100} {
		c := newChain(lines*lineBytes, rand.New(rand.NewPCG(1, 0)))
		seen := make(map[uint32]bool)
		for range lines {
			if seen[c.at] || c.at%(lineBytes/4) != 0 {
				t.Fatalf("%d lines: at word %d after %d", lines, c.at, len(seen))
			}
			seen[c.at] = true
			c.walk(1)
		}
		if c.at != 0 {
			t.Errorf("%d lines: the walk ends at word %d", lines, c.at)
		}
	}
}

func TestMultiplyIsAChain(t *testing.T) {
	if got, want := multiply(multiply(7, 2), 3), multiply(7, 5); got != want || got == 7 {
		t.Errorf("two and three make %d, five %d", got, want)
	}
}

func TestSplitAnswer(t *testing.T) {
	if len(splitAccesses) == 0 {
		t.Skip(splitLockAssembly())
	}
	for _, test := range []struct {
		name              string
		split             float64 // ns of an access across two lines; 2 aligned
		registers, memory float64 // ns of a neighbour during one; 10 during one inside a line
		want              []string
	}{
		{"bus lock", 700, 11, 80, []string{"takes LOCK XADD 350, LOCK CMPXCHG 350 and XADD without LOCK 350. ", "takes 1.1 times in R and 8 times in M. So inside", "as a lock of the bus does."}},
		{"dear alone", 700, 11, 9, []string{"takes 1.1 times in R and 0.9 times in M. So it is expensive"}},
		{"nothing", 2.2, 10, 10, []string{"LOCK XADD 1.1, ", "So no lock of the bus was seen."}},
	} {
		var selves []*splitCell
		for _, p := range splitLockPlan().places {
			for _, a := range splitAccesses {
				ns := 2.
				if p.splits() {
					ns = test.split
				}
				if p.offset == pageBytes-4 {
					ns = 1e6 // the answer is about lines
				}
				selves = append(selves, &splitCell{access: a, place: p, ns: []float64{ns}})
			}
		}
		beside := []*neighbourCell{
			{work: neighbour{name: "R"}, idle: []float64{5}, inside: []float64{10}, split: []float64{test.registers}},
			{work: neighbour{name: "M"}, idle: []float64{5}, inside: []float64{10}, split: []float64{test.memory}},
		}
		got := splitAnswer(selves, beside)
		for _, want := range test.want {
			if !strings.Contains(got, want) {
				t.Errorf("%s: no %q in %q", test.name, want, got)
			}
		}
	}
}

func TestSplitLockTrap(t *testing.T) {
	const intel, bus = "split_lock_detect", "bus_lock_detect"
	for _, test := range []struct {
		name, flags, cmdline string
		want                 string // the flag in the error; "" without one
	}{
		{"no flag", "fpu tsc", "", ""},
		{"no flag, option", "fpu", "split_lock_detect=fatal", ""},
		{"another flag", "no_split_lock_detect split_lock_detect2", "", ""},
		{"default", "fpu " + intel + " tsc", "quiet", intel},
		{"warn", intel, "split_lock_detect=warn", intel},
		{"bus lock only", bus, "", bus},
		{"fatal", bus, "a split_lock_detect=fatal b", bus},
		{"limit", intel, "split_lock_detect=ratelimit:10", intel},
		{"off", intel + " " + bus, "quiet split_lock_detect=off", ""},
		{"the last counts, off", intel, "split_lock_detect=fatal split_lock_detect=off", ""},
		{"the last counts, fatal", intel, "split_lock_detect=off split_lock_detect=fatal", intel},
		{"misspelt last", intel, "split_lock_detect=off split_lock_detect=offf", intel},
		{"another option", intel, "xsplit_lock_detect=off", intel},
	} {
		root := fstest.MapFS{
			"proc/cpuinfo": mapFile("processor\t: 0\nflags\t\t: " + test.flags + "\nbugs\t\t:\n\nprocessor\t: 1\n"),
			"proc/cmdline": mapFile(test.cmdline + "\n"),
		}
		err := splitLockTrap(root)
		if test.want == "" {
			if err != nil {
				t.Errorf("%s: error is %v", test.name, err)
			}
			continue
		}
		if !errors.Is(err, ErrSplitLockTrapped) || !strings.Contains(err.Error(), "flag "+test.want) || !strings.Contains(err.Error(), "boot it with split_lock_detect=off") {
			t.Errorf("%s: error is %v", test.name, err)
		}
	}
	if err := splitLockTrap(fstest.MapFS{}); err != nil {
		t.Errorf("a system without /proc: %v", err)
	}
}

func mapFile(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }

func TestProbeSplit(t *testing.T) {
	const fast, slow = time.Microsecond, 11 * time.Millisecond
	for _, test := range []struct {
		name     string
		took     func(access int, rearmed bool) time.Duration
		trapped  bool
		accesses int
	}{
		{"nothing", func(int, bool) time.Duration { return fast }, false, 16},
		{"each", func(int, bool) time.Duration { return slow }, true, 2},
		{"preempted once", func(i int, _ bool) time.Duration {
			if i == 1 {
				return slow
			}
			return fast
		}, false, 16},
		{"Linux, one and then two ticks free", func(i int, rearmed bool) time.Duration {
			if i == 0 || rearmed {
				return slow
			}
			return fast
		}, true, 2},
	} {
		calls, rearmed := 0, false
		err := probeSplit(func() time.Duration {
			took := test.took(calls, rearmed)
			calls, rearmed = calls+1, false
			return took
		}, func(d time.Duration) { rearmed = d >= 20*time.Millisecond })
		if (err != nil) != test.trapped || err != nil && !errors.Is(err, ErrSplitLockTrapped) || calls != test.accesses {
			t.Errorf("%s: error %v after %d accesses", test.name, err, calls)
		}
	}
}

func TestSplitLockAvailable(t *testing.T) {
	err := splitLockAvailable()
	switch {
	case err == nil && (runtime.GOARCH != "amd64" || len(splitAccesses) == 0 || len(machine.CPUOrder()) < 2):
		t.Error("available without assembly or a second CPU")
	case err == nil && splitLockTrap(os.DirFS("/")) != nil:
		t.Error("available though the kernel traps it")
	case err != nil && (!strings.HasPrefix(err.Error(), "hardware: ") || strings.Contains(err.Error(), "\n")):
		t.Errorf("the reason is %v", err)
	}
}
