package hardware

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"time"

	"locklab/harness/result"
	"locklab/internal/numfmt"
)

var splitLock = &Experiment{
	Name:     "split-lock",
	Question: "Cache lock or bus lock: what does a locked instruction cost inside a cache line and across two, itself and a neighbour?",
	Method: "One thread raises eight bytes that lie inside a line, across two lines or across two pages, with the LOCK prefix and without. " +
		"Then it keeps doing that with LOCK while a second thread, on another CPU and in its own memory, works in registers, in its caches, in memory and on a locked word.",
	Source: "Intel SDM vol. 3A, Bus Locking; Linux, Documentation/arch/x86/buslock.rst",
	OptIn: "a locked access across two lines holds up the memory accesses of every CPU, those of other tenants of the host too, " +
		"and this makes up to a million a second for about a third of its budget. A host that forbids them may slow this machine down or stop it.",
	Available: splitLockAvailable,
	run: func(ctx context.Context, o Options) (*result.Finding, error) {
		return runSplitLock(ctx, o, splitLockPlan())
	},
}

const (
	lineBytes   = 64 // of every amd64 CPU
	pageBytes   = 4096
	operandSize = 8
)

type splitPlace struct {
	name   string
	offset int
}

func (p splitPlace) splits() bool { return p.offset%lineBytes+operandSize > lineBytes }

type splitAccess struct {
	name   string
	locked bool
	run    func(p *byte, n uint64)
}

type splitPlan struct {
	places         []splitPlace // the first is inside a line
	inside, across splitPlace   // places of LOCK XADD during a neighbour's work
	levels         []footprint  // memory of the neighbours
}

func splitLockPlan() splitPlan {
	places := []splitPlace{
		{"in a line, aligned", 0},
		{"in a line, 4 bytes off", 4},
		{"across two lines", lineBytes - 4},
		{"across two pages", pageBytes - 4},
	}
	return splitPlan{places: places, inside: places[0], across: places[2], levels: footprints}
}

func splitLockAvailable() error {
	return cmp.Or(splitLockAssembly(), needTwoCPUs(), splitLockTrap(os.DirFS("/")))
}

type splitCell struct {
	bench  *splitBench
	access splitAccess
	place  splitPlace
	size   callSize
	ns     []float64 // a figure for each repeat
}

// A neighbourCell is the time of a neighbour's operation while the other thread does
// nothing, LOCK XADD inside a line, or LOCK XADD across two.
type neighbourCell struct {
	bench               *splitBench
	work                neighbour
	idle, inside, split []float64 // ns, a figure for each repeat
	rate                []float64 // accesses across two lines in a second
}

type splitBench struct {
	pinned         *pinnedThreads // thread 0 is the neighbour, thread 1 the aggressor
	page           []byte
	inside, across aggressor
}

func (b *splitBench) at(p splitPlace) *byte { return &b.page[p.offset] }

func runSplitLock(ctx context.Context, o Options, plan splitPlan) (*result.Finding, error) {
	place := apart()
	pinned, err := newPinnedThreads(place.cpus...)
	if err != nil {
		return nil, err
	}
	defer pinned.close()
	b := &splitBench{pinned: pinned, page: alignedBytes(2*pageBytes, pageBytes)}
	b.inside = aggressor{run: splitAccesses[0].run, at: b.at(plan.inside)}
	b.across = aggressor{run: splitAccesses[0].run, at: b.at(plan.across)}
	if err := b.probe(); err != nil {
		return nil, err
	}
	var selves []*splitCell
	var beside []*neighbourCell
	for _, p := range plan.places {
		for _, a := range splitAccesses {
			selves = append(selves, &splitCell{bench: b, access: a, place: p})
		}
	}
	for _, n := range neighbours(plan.levels, rand.New(rand.NewPCG(o.Seed, 0))) {
		beside = append(beside, &neighbourCell{bench: b, work: n})
	}
	return measureCells(ctx, o, len(selves)+3*len(beside), slices.Concat(cellsOf(selves), cellsOf(beside)), func() *result.Finding {
		return &result.Finding{
			Answer: splitAnswer(selves, beside),
			Tables: []result.Table{splitTable(selves), neighbourTable(beside)},
			Notes:  append(ranOn(place), "if the neighbour is also slow next to a thread that locks inside a line, the machine is the cause, such as two threads on one core"),
		}
	})
}

func (b *splitBench) probe() (err error) {
	b.pinned.step(func(thread int) {
		if thread == 1 {
			err = probeSplit(func() time.Duration {
				start := time.Now()
				b.across.run(b.across.at, 1)
				return time.Since(start)
			}, time.Sleep)
		}
	})
	return err
}

func splitTable(cells []*splitCell) result.Table {
	t := result.Table{Caption: "What an access costs itself", Label: "the eight bytes lie", Chart: result.Bars, Log: true}
	t.Columns = result.Each(splitAccesses, func(a splitAccess) result.Column { return result.Column{Name: a.name, Unit: "ns", Plot: true} })
	for _, a := range splitAccesses {
		t.Columns = append(t.Columns, result.Column{Name: a.name + ", times aligned"})
	}
	n := len(splitAccesses)
	for i := 0; i < len(cells); i += n {
		row := result.Row{Label: cells[i].place.name}
		row.Cells = result.Each(cells[i:][:n], func(c *splitCell) result.Cell { return summarize(c.ns) })
		for k, c := range cells[i:][:n] {
			row.Cells = append(row.Cells, summarize(ratios(c.ns, cells[k].ns)))
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

func neighbourTable(cells []*neighbourCell) result.Table {
	t := result.Table{Caption: "What it costs a neighbour on another CPU", Label: "neighbour works in", Chart: result.Bars,
		Columns: []result.Column{{Name: "alone", Unit: "ns"},
			{Name: "next to LOCK XADD in a line", Unit: "times alone", Plot: true},
			{Name: "next to LOCK XADD across two", Unit: "times alone", Plot: true},
			{Name: "accesses across two", Unit: "per second"}}}
	for _, c := range cells {
		t.Rows = append(t.Rows, result.Row{Label: c.work.name, Cells: []result.Cell{
			summarize(c.idle), summarize(ratios(c.inside, c.idle)), summarize(ratios(c.split, c.idle)), summarize(c.rate)}})
	}
	return t
}

// slowed is the factor from which a neighbour counts as slowed down, above noise.
const slowed = 1.5

// splitAnswer reports the additional cost of each access across two lines, and the slowed
// neighbours, compared with the same access inside a line.
func splitAnswer(selves []*splitCell, beside []*neighbourCell) string {
	var costs []string
	dear := false
	for _, a := range splitAccesses {
		factor := splitFactor(selves, a.name)
		costs = append(costs, fmt.Sprintf("%s %s", a.name, number(factor)))
		dear = dear || a.locked && factor >= slowed
	}
	var neighbours []string
	stopped := false
	for _, c := range beside {
		factor := summarize(ratios(c.split, c.inside)).Median
		neighbours = append(neighbours, fmt.Sprintf("%s times in %s", number(factor), c.work.name))
		stopped = stopped || factor >= slowed
	}
	s := "As a multiple of the time inside a line, across two takes " + numfmt.List(costs, len(costs)) +
		". With LOCK a neighbour on another CPU then takes " + numfmt.List(neighbours, len(neighbours)) + ". "
	switch {
	case dear && stopped:
		return s + "So inside a line the lock is on the cache line; across two it stops others too, as a lock of the bus does."
	case dear:
		return s + "So it is expensive, but it was not seen to stop others."
	}
	return s + "So no lock of the bus was seen."
}

func splitFactor(cells []*splitCell, access string) float64 {
	var aligned *splitCell
	for _, c := range cells {
		switch {
		case c.access.name != access:
		case aligned == nil:
			aligned = c
		case c.place.splits():
			return summarize(ratios(c.ns, aligned.ns)).Median
		}
	}
	return 1
}

// ErrSplitLockTrapped reports that the kernel or a hypervisor below it traps locked
// accesses across two lines, so their own cost cannot be measured.
var ErrSplitLockTrapped = errors.New("hardware: split locks are trapped")

// splitLockTrap returns an error if the Linux kernel whose files are under fsys may trap a
// locked access across two lines, and nil for another system.
//
// Linux shows the feature as a flag of /proc/cpuinfo, for any boot option split_lock_detect
// (arch/x86/kernel/cpu/bus_lock.c). Every option but "off" traps on some processors.
func splitLockTrap(fsys fs.FS) error {
	for _, flag := range cpuFeatures(fsys, "flags") {
		if (flag == "split_lock_detect" || flag == "bus_lock_detect") && splitLockMode(fsys) != "off" {
			return fmt.Errorf("%w: this kernel may catch them (flag %s in /proc/cpuinfo); boot it with split_lock_detect=off to measure them", ErrSplitLockTrapped, flag)
		}
	}
	return nil
}

func cpuFeatures(fsys fs.FS, key string) []string {
	for line := range strings.Lines(readTrimmed(fsys, "proc/cpuinfo")) {
		if k, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(k) == key {
			return strings.Fields(value)
		}
	}
	return nil
}

// splitLockMode returns the last value, which the kernel takes.
func splitLockMode(fsys fs.FS) (mode string) {
	for _, word := range strings.Fields(readTrimmed(fsys, "proc/cmdline")) {
		if value, ok := strings.CutPrefix(word, "split_lock_detect="); ok {
			mode = value
		}
	}
	return mode
}

func readTrimmed(fsys fs.FS, name string) string {
	text, _ := fs.ReadFile(fsys, name) // an unreadable file counts as unknown
	return strings.TrimSpace(string(text))
}

// slowAccess is far above an untrapped access, some microseconds.
const slowAccess = time.Millisecond

// probeSplit makes a few accesses and returns an error if they are so slow that something
// traps them, perhaps an unseen hypervisor. once makes one access and returns its time.
//
// One slow access may be a preempted thread, and Linux lets a CPU pass for two ticks after a
// trap. So it waits after a slow access, and judges by the second.
func probeSplit(once func() time.Duration, wait func(time.Duration)) error {
	const (
		accesses = 16
		rearmed  = 50 * time.Millisecond // two ticks are 20 ms at most
	)
	slow := 0
	for range accesses {
		took := once()
		if took < slowAccess {
			continue
		}
		if slow++; slow == 2 {
			return fmt.Errorf("%w: one took %v, so this kernel or the hypervisor below it catches them; run this on a machine without one that does", ErrSplitLockTrapped, took)
		}
		wait(rearmed)
	}
	return nil
}
