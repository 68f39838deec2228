package hardware

import (
	"context"
	"fmt"
	"io/fs"
	"math"
	"os"
	"runtime"
	"strings"
	"time"

	"locklab/atomics"
	"locklab/harness/result"
)

var litmus = &Experiment{
	Name:     "litmus",
	Question: "In which order does a CPU see what another CPU stored, and does Peterson's lock work without a fence?",
	Method: "Two threads on two CPUs meet, and each makes two accesses to two shared words; the outcomes that no order of the four accesses explains are counted. " +
		"Then both take Peterson's lock, which depends on that order.",
	Source:    "Sewell, Sarkar, Owens, Zappa Nardelli and Myreen, x86-TSO, CACM 2010; Peterson, Information Processing Letters 12, 1981",
	Available: litmusAvailable,
	run:       runLitmus,
}

// A line is a word alone in a cache line. The assembly depends on its size.
type line struct {
	v uint64
	_ [56]byte
}

// A litmusThread runs the iterations from up to below to. In each it writes its number to
// mine, waits until theirs is at least that, and accesses first and then second. It stores the
// loaded values in seen. After about a millisecond of waiting it returns early; next is the
// iteration to continue with. first, second and seen are arrays, indexed by the iteration.
type litmusThread func(first, second *line, seen, mine, theirs *uint64, from, to uint64) (next uint64)

// A litmusTest is a pair of threads and the outcome that shows reordering. The second
// thread gets the two words in the opposite order.
type litmusTest struct {
	name    string
	allowed bool // the memory model of this architecture allows the outcome
	certain bool // every machine with two CPUs shows the outcome soon
	threads [2]litmusThread
	relaxed func(seen0, seen1 uint64) bool
}

// neitherSaw: each stored one word, and neither saw the other's store.
func neitherSaw(seen0, seen1 uint64) bool { return seen0 == 0 && seen1 == 0 }

// bothSaw: each loaded the value that the other stored only afterwards.
func bothSaw(seen0, seen1 uint64) bool { return seen0 == 1 && seen1 == 1 }

// flagWithoutData: the reader saw the second store (1) and not the first (2).
func flagWithoutData(_, seen1 uint64) bool { return seen1 == 1 }

// A petersonLock takes and frees Peterson's lock, like casBody.lock; mine and theirs are
// the flags of the two threads, and the ids are 1 and 2.
type petersonLock struct {
	name  string
	sound bool
	run   func(s *guarded, mine, theirs *uint64, id, limit, patience, iterations uint64) (entered, violated uint64)
}

// iterationsPerStep iterations fit into the second level cache, with all lines.
const iterationsPerStep = 2048

// An arena is a litmus test's memory for a step. Iterations count from 1: 0 is not started.
type arena struct {
	x, y [iterationsPerStep + 1]line
	seen [2][iterationsPerStep + 1]uint64
	_    atomics.CacheLinePad
	at   [2]line
	_    atomics.CacheLinePad
}

func (a *arena) play(c *pinnedThreads, test litmusTest) (relaxed uint64) {
	*a = arena{}
	c.step(func(i int) {
		first, second := &a.x[0], &a.y[0]
		if i == 1 {
			first, second = second, first
		}
		for next := uint64(1); next <= iterationsPerStep; {
			next = test.threads[i](first, second, &a.seen[i][0], &a.at[i].v, &a.at[1-i].v, next, iterationsPerStep+1)
		}
	})
	for i := 1; i <= iterationsPerStep; i++ {
		if test.relaxed(a.seen[0][i], a.seen[1][i]) {
			relaxed++
		}
	}
	return relaxed
}

// A litmusCell counts an outcome of a litmus test or of a lock.
type litmusCell struct {
	name, unit string // of the outcome, and of what is counted
	allowed    bool
	step       func() (total, bad uint64)
	total, bad uint64
	rate       []float64
}

// litmusCells returns the cells of litmusTests and then of petersonLocks.
func litmusCells(c *pinnedThreads) (cells []*litmusCell) {
	meeting := new(arena)
	for _, test := range litmusTests {
		step := func() (uint64, uint64) { return iterationsPerStep, meeting.play(c, test) }
		cells = append(cells, &litmusCell{name: test.name, unit: "iterations", allowed: test.allowed, step: step})
	}
	for _, lock := range petersonLocks {
		step := func() (uint64, uint64) { return enterPeterson(c, lock) }
		cells = append(cells, &litmusCell{name: "two inside " + lock.name, unit: "entries", allowed: !lock.sound, step: step})
	}
	return cells
}

func (c *litmusCell) measure(ctx context.Context, span time.Duration) error {
	var total, bad uint64
	err := during(ctx, span, func() {
		t, b := c.step()
		total += t
		bad += b
	})
	if err == nil {
		c.total, c.bad, c.rate = c.total+total, c.bad+bad, append(c.rate, perMillion(bad, total))
	}
	return err
}

// enterPeterson runs one step of lock. Two threads inside show in an overwritten id or a lost
// increment, depending on the store buffers.
func enterPeterson(c *pinnedThreads, lock petersonLock) (entered, violated uint64) {
	const limit, patience, iterations = 1 << 14, 1 << 18, holdIterations
	var s guarded
	var flags [2]line
	var in, bad [2]uint64
	c.step(func(i int) {
		in[i], bad[i] = lock.run(&s, &flags[i].v, &flags[1-i].v, uint64(i+1), limit, patience, iterations)
	})
	entered = in[0] + in[1]
	return entered, max(bad[0]+bad[1], entered-s.counter)
}

func runLitmus(ctx context.Context, o Options) (*result.Finding, error) {
	place := apart()
	pinned, err := newPinnedThreads(place.cpus...)
	if err != nil {
		return nil, err
	}
	defer pinned.close()
	cells, notes := litmusCells(pinned), ranOn(place)
	if translated(os.DirFS("/"), runtime.GOARCH) {
		notes = append(notes, "an emulator runs this program: what is seen is the order of that and of the machine below, not of "+memoryModel)
	}
	return measureCells(ctx, o, len(cells), cellsOf(cells), func() *result.Finding {
		return &result.Finding{Answer: litmusAnswer(cells), Tables: litmusTables(cells), Notes: notes}
	})
}

func litmusTables(cells []*litmusCell) []result.Table {
	outcomes := result.Table{Caption: "Outcomes that no order of the accesses explains", Label: "test",
		Chart: result.Bars, Log: true,
		Columns: []result.Column{{Name: memoryModel}, {Name: "iterations"}, {Name: "seen", Unit: "per million", Plot: true}}}
	tests := len(litmusTests)
	for _, c := range cells[:tests] {
		outcomes.Rows = append(outcomes.Rows, result.Row{Label: c.name,
			Cells: []result.Cell{{Text: map[bool]string{false: "forbids", true: "allows"}[c.allowed]}, exact(float64(c.total)), summarize(c.rate)}})
	}
	entries := result.Table{Caption: "A lock of loads and stores", Label: "lock",
		Chart: result.Bars, Log: true,
		Columns: []result.Column{{Name: "entries"}, {Name: "two inside", Unit: "per million", Plot: true}}}
	for i, lock := range petersonLocks {
		c := cells[tests+i]
		entries.Rows = append(entries.Rows, result.Row{Label: lock.name, Cells: []result.Cell{exact(float64(c.total)), summarize(c.rate)}})
	}
	return []result.Table{outcomes, entries}
}

// translated reports whether an emulator such as qemu-user runs this program for goarch: the
// kernel under fsys has another architecture.
func translated(fsys fs.FS, goarch string) bool {
	kernels := map[string]string{"amd64": "x86_64", "arm64": "aarch64", "riscv64": "riscv64"}
	want, known := kernels[goarch]
	if !known {
		return false
	}
	if kernel := readTrimmed(fsys, "proc/sys/kernel/arch"); kernel != "" {
		return kernel != want
	}
	// Before Linux 6.1 an x86 processor's vendor shows it; old emulators show the vendor too.
	return goarch != "amd64" && strings.Contains(readTrimmed(fsys, "proc/cpuinfo"), "vendor_id")
}

func litmusAnswer(cells []*litmusCell) string {
	var allowed, forbidden, never []string
	least := uint64(math.MaxUint64) // iterations of the outcomes never seen
	for _, c := range cells {
		seen := fmt.Sprintf("%s (%s in a million %s)", c.name, number(summarize(c.rate).Median), c.unit)
		switch {
		case c.bad == 0:
			never, least = append(never, c.name), min(least, c.total)
		case c.allowed:
			allowed = append(allowed, seen)
		default:
			forbidden = append(forbidden, seen)
		}
	}
	var parts []string
	if len(forbidden) > 0 {
		parts = append(parts, "Seen although "+memoryModel+" forbids it: "+strings.Join(forbidden, "; ")+".")
	}
	if len(allowed) > 0 {
		parts = append(parts, "Seen, as "+memoryModel+" allows: "+strings.Join(allowed, "; ")+".")
	}
	if len(never) > 0 {
		parts = append(parts, fmt.Sprintf("Never seen in %s iterations or more: %s.", number(float64(least)), strings.Join(never, "; ")))
	}
	return strings.Join(parts, " ")
}
