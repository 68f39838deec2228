package hardware

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"locklab/harness/result"
)

var lostUpdates = &Experiment{
	Name:     "lost-updates",
	Question: "When two CPUs both pass the compare of a compare-and-swap before either stores, do both get the lock?",
	Method: "Threads raise one counter, and then take one spin lock, by three bodies of compare-and-swap, on one CPU, on two and on all. " +
		"Updates that were reported but are not in the counter are lost; so is an unlock if the lock is held after all threads left. " +
		"Then the spin locks of the lab guard a counter in the same places.",
	Source:    "Intel SDM vol. 3A, Locked Atomic Operations",
	Available: always,
	run:       runLostUpdates,
}

type casCell struct {
	place    placement
	body     casBody
	tallies  []tally // one for each repeat
	attempts uint64  // of a thread in a step; 0 before the first
}

// A tally counts the operations and failures of threads on a counter and on a lock.
type tally struct {
	updates  uint64 // of the counter, as reported
	lost     uint64 // updates missing from the counter
	entered  uint64
	violated uint64 // entries that met another thread inside
	forgot   uint64 // increments missing from the guarded counter
	stalls   uint64 // steps after which no thread held the lock, but it was not free
}

func (t tally) broken() bool { return t.violated+t.forgot+t.stalls > 0 }

func runLostUpdates(ctx context.Context, o Options) (*result.Finding, error) {
	places := lostPlacements(placements(), allCPUs())
	var bodies []*casCell
	for _, p := range places {
		for _, b := range casBodies {
			bodies = append(bodies, &casCell{place: p, body: b})
		}
	}
	locks, notes := newLockCells(o.Locks, lockPlacements(places))
	// Half of a body's time for the counter, half for the lock.
	if len(places) == 1 && places[0].shared {
		notes = append(notes, "this process may use one CPU, so the question about two CPUs is open")
	}
	return measureCells(ctx, o, 2*len(bodies)+len(locks), slices.Concat(cellsOf(bodies), cellsOf(locks)), func() *result.Finding {
		return &result.Finding{
			Answer: lostAnswer(bodies, locks),
			Tables: append(bodyTables(bodies), lockTables(locks)...),
			Notes:  append(ranOn(places...), notes...),
		}
	})
}

// maxThreads bounds the threads: more find nothing new, and a step lasts too long.
const maxThreads = 64

// lostPlacements returns the placements of two threads, and of one thread on each CPU.
func lostPlacements(two []placement, cpus []int) []placement {
	places := slices.Clone(two)
	name := "all CPUs"
	if len(cpus) > maxThreads {
		cpus, name = cpus[:maxThreads], fmt.Sprintf("%d CPUs", maxThreads)
	}
	if len(cpus) > 2 {
		places = append(places, placement{name: name, cpus: cpus})
	}
	return places
}

func (c *casCell) measure(ctx context.Context, span time.Duration) error {
	pinned, err := newPinnedThreads(c.place.cpus...)
	if err != nil {
		return err
	}
	defer pinned.close()
	var t tally
	err = cmp.Or(c.measureCounter(ctx, pinned, span, &t), c.measureLock(ctx, pinned, span, &t))
	if err == nil {
		c.tallies = append(c.tallies, t)
	}
	return err
}

// A thread's work in a step; apart, of all threads together, which wait for each other.
const (
	attemptsOneCPU = 1 << 22 // at first
	attemptsApart  = 1 << 19
	entriesOneCPU  = 1 << 18
	entriesApart   = 1 << 15
	patienceOneCPU = 1 << 18
	patienceApart  = 1 << 19
)

// leastStepOneCPU is some slices of the scheduler, or one thread finishes before the other
// begins.
const leastStepOneCPU = 20 * time.Millisecond

func (p placement) perThread(oneCPU, apart uint64) uint64 {
	if p.shared {
		return oneCPU
	}
	return apart / uint64(len(p.cpus))
}

func (c *casCell) measureCounter(ctx context.Context, pinned *pinnedThreads, span time.Duration, t *tally) error {
	if c.attempts == 0 {
		c.attempts = c.place.perThread(attemptsOneCPU, attemptsApart)
	}
	return during(ctx, span, func() {
		var g guarded // its counter is alone in a line
		won := make([]uint64, len(c.place.cpus))
		began := time.Now()
		pinned.step(func(i int) { won[i] = c.body.add(&g.counter, c.attempts) })
		t.updates += sum(won)
		t.lost += sum(won) - g.counter
		if c.place.shared && time.Since(began) < leastStepOneCPU {
			c.attempts *= 2 // for this repeat and the later ones
		}
	})
}

// measureLock counts the failures of the spin lock. A thread that finds it held for very long
// gives up the step. If the lock is not free then, an unlock was lost: a failing CMPXCHG
// writes back the old value.
func (c *casCell) measureLock(ctx context.Context, pinned *pinnedThreads, span time.Duration, t *tally) error {
	limit := c.place.perThread(entriesOneCPU, entriesApart)
	patience := c.place.perThread(patienceOneCPU, patienceApart)
	return during(ctx, span, func() {
		var g guarded
		entered, violated := make([]uint64, len(c.place.cpus)), make([]uint64, len(c.place.cpus))
		pinned.step(func(i int) { entered[i], violated[i] = c.body.lock(&g, uint64(i+1), limit, patience, holdIterations) })
		t.entered += sum(entered)
		t.violated += sum(violated)
		t.forgot += sum(entered) - g.counter
		t.stalls += g.word
	})
}

func sum[N uint64 | float64](xs []N) (total N) {
	for _, x := range xs {
		total += x
	}
	return total
}

func perMillion(part, whole uint64) float64 {
	if whole == 0 {
		return 0
	}
	return float64(part) / float64(whole) * 1e6
}

const perMillionUnit = "per million"

func total(tallies []tally) (sum tally) {
	for _, t := range tallies {
		sum.updates += t.updates
		sum.lost += t.lost
		sum.entered += t.entered
		sum.violated += t.violated
		sum.forgot += t.forgot
		sum.stalls += t.stalls
	}
	return sum
}

func rates(tallies []tally, share func(tally) (part, whole uint64)) result.Cell {
	return summarize(result.Each(tallies, func(t tally) float64 { return perMillion(share(t)) }))
}

func lostOf(t tally) (part, whole uint64)     { return t.lost, t.updates }
func violatedOf(t tally) (part, whole uint64) { return t.violated, t.entered }
func forgotOf(t tally) (part, whole uint64)   { return t.forgot, t.entered }
func stallsOf(t tally) (part, whole uint64)   { return t.stalls, t.entered }

func (c *casCell) failed() bool {
	t := total(c.tallies)
	return t.lost > 0 || t.broken()
}

func bodyTables(cells []*casCell) []result.Table {
	rate := func(name string) result.Column { return result.Column{Name: name, Unit: perMillionUnit, Plot: true} }
	counter := result.Table{Caption: "One counter, raised by all threads: updates that were lost", Label: "compare-and-swap",
		Columns: []result.Column{{Name: "updates"}, rate("lost")}, Chart: result.Bars, Log: true}
	spin := result.Table{Caption: "A spin lock built on each compare-and-swap: what went wrong", Label: "compare-and-swap",
		Columns: []result.Column{{Name: "entries"}, rate("two inside"), rate("lost increments"), rate("lost unlocks")}, Chart: result.Bars, Log: true}
	for _, c := range cells {
		sum := total(c.tallies)
		label := c.body.name + ", " + c.place.name
		counter.Rows = append(counter.Rows, result.Row{Label: label, Cells: []result.Cell{exact(float64(sum.updates)), rates(c.tallies, lostOf)}})
		spin.Rows = append(spin.Rows, result.Row{Label: label, Cells: []result.Cell{exact(float64(sum.entered)),
			rates(c.tallies, violatedOf), rates(c.tallies, forgotOf), rates(c.tallies, stallsOf)}})
	}
	return []result.Table{counter, spin}
}

// lockTables returns a table for each placement.
func lockTables(cells []*lockCell) (tables []result.Table) {
	for _, c := range cells {
		caption := "The spin locks of the lab, " + c.place.name
		i := slices.IndexFunc(tables, func(t result.Table) bool { return t.Caption == caption })
		if i < 0 {
			i = len(tables)
			tables = append(tables, result.Table{Caption: caption, Label: "lock", Chart: result.Bars, Log: true,
				Columns: []result.Column{{Name: "entries"}, {Name: "lost increments", Unit: perMillionUnit}, {Name: "two inside", Unit: perMillionUnit},
					{Name: "time of one entry, with a section of about 100 ns", Unit: "ns", Plot: true}}})
		}
		tables[i].Rows = append(tables[i].Rows, result.Row{Label: c.lock.Name, Cells: []result.Cell{
			exact(float64(total(c.tallies).entered)), rates(c.tallies, forgotOf), rates(c.tallies, violatedOf), summarize(c.ns)}})
	}
	return tables
}

func lostAnswer(cells []*casCell, locks []*lockCell) string {
	var parts []string
	for i := len(casBodies); i <= len(cells); i += len(casBodies) {
		row := cells[len(cells)-i:][:len(casBodies)]
		parts = append(parts, "on "+row[0].place.name+" "+strings.Join(result.Each(row, (*casCell).sentence), ", "))
	}
	s := strings.Join(parts, "; ") + "."
	s = shortAnswer(cells) + " " + strings.ToUpper(s[:1]) + s[1:]
	if len(locks) > 0 {
		s += " " + locksSentence(locks)
	}
	return s
}

func shortAnswer(cells []*casCell) string {
	var bare, atomic bool // whether a body failed
	for _, c := range cells {
		switch {
		case c.place.shared || !c.failed():
		case c.body.atomic:
			atomic = true
		default:
			bare = true
		}
	}
	switch {
	case atomic:
		return "Yes, even with the atomic instruction: this machine or this program is broken."
	case bare:
		return "Yes, both get it, unless the compare-and-swap is atomic."
	}
	return "It was not seen to happen here."
}

func (c *casCell) sentence() string {
	sum := total(c.tallies)
	lost := rates(c.tallies, lostOf).Median
	if lost == 0 {
		lost = perMillion(lostOf(sum))
	}
	switch {
	case !c.failed():
		return fmt.Sprintf("%s lost none of %s updates and kept its lock exclusive", c.body.name, number(float64(sum.updates)))
	case !sum.broken():
		return fmt.Sprintf("%s lost %s updates per million, and its lock was not seen to fail", c.body.name, number(lost))
	}
	return fmt.Sprintf("%s lost %s updates per million and its lock failed", c.body.name, number(lost))
}

func locksSentence(cells []*lockCell) string {
	var failed []string
	entered := uint64(0)
	for _, c := range cells {
		t := total(c.tallies)
		entered += t.entered
		if t.broken() {
			failed = append(failed, fmt.Sprintf("%s (%s) lost %d increments and let two in %d times in %s entries",
				c.lock.Name, c.place.name, t.forgot, t.violated, number(float64(t.entered))))
		}
	}
	if len(failed) > 0 {
		return "LOCKS OF THE LAB FAILED: " + strings.Join(failed, "; ") + "."
	}
	return fmt.Sprintf("No lock of the lab lost an increment or let two in, in %s entries.", number(float64(entered)))
}
