package hardware

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"locklab/atomics"
	"locklab/harness/result"
	"locklab/internal/machine"
	"locklab/internal/stat"
)

var waiting = &Experiment{
	Name:     "waiting",
	Question: "By which instruction should a waiter wait, and what does that cost the other thread of its core?",
	Method: "Two threads on two CPUs hand a word to and fro, and wait for it by one instruction after the other: blocks of a fraction of a millisecond in turn. " +
		"Then a thread waits in vain while the other thread of its core computes, whose time alone comes before and after. " +
		"Each wait is bounded, so that it ends if no store comes.",
	Source: "Intel 64 and IA-32 Architectures Software Developer's Manual, volume 2, UMWAIT and TPAUSE; AMD64 Architecture Programmer's Manual, volume 3, MONITORX and MWAITX; " +
		"Arm Architecture Reference Manual for A-profile, WFE and WFET",
	Available: needTwoCPUs,
	run:       runWaiting,
}

// A waitWay is an instruction for waiting. wait returns the last loaded value when *p is
// not v, or after n waits, n > 0. It has no safe point, so n is small.
type waitWay struct {
	name      string
	available func() error
	wait      func(p *atomics.Uint64, v, n uint64) (last uint64)
}

// The ways of all architectures: no instruction, and the instruction of [atomics.SpinHint].
var (
	waitByLoads = waitWay{"load only", always, pollWord}
	waitByHints = waitWay{hintName, always, func(p *atomics.Uint64, v, n uint64) uint64 {
		last, _ := p.PollWhile(v, int(n))
		return last
	}}
)

func pollWord(p *atomics.Uint64, v, n uint64) (last uint64) {
	for range n {
		if last = p.Load(); last != v {
			break
		}
	}
	return last
}

func allWays() []waitWay { return append([]waitWay{waitByLoads, waitByHints}, waitWays...) }

const (
	// waitsPerCall bounds the waits of a call: some µs, but 1.6 ms of WFE, which a store ends.
	waitsPerCall = 16

	waitBlock = 250 * time.Microsecond // about, of handovers or waits in vain
	waitTurns = 1 << 14                // maximum handovers of a block
)

type waitCell struct {
	waitWay
	turns             int       // of a block
	handOver          []float64 // ns
	vain              []float64 // ns of one wait for a store that does not come
	neighbour         []float64 // time of work on the other thread of the core, as a multiple of the time alone
	blocks            []float64
	vains, neighbours []float64
	product           uint64 // result of the neighbour's work
}

func (w waitWay) await(p *atomics.Uint64, k uint64) {
	for calls := 1; w.wait(p, k-1, waitsPerCall) != k; calls++ {
		if calls%64 == 0 {
			runtime.Gosched()
		}
	}
}

func (w waitWay) handOver(p *atomics.Uint64, me, turns uint64) {
	for k := me; k < turns; k += 2 {
		w.await(p, k)
		p.StoreRelease(k + 1)
	}
}

func (c *waitCell) block(pinned *pinnedThreads) (ns float64) {
	line := new(hopLine)
	turns := uint64(c.turns)
	pinned.step(func(thread int) {
		start := time.Now()
		c.waitWay.handOver(&line.w, uint64(thread), turns)
		if thread == 0 {
			took := time.Since(start)
			ns = float64(took) / float64(turns-2) // no handover leads to turn 0, and the last is not timed
			if took < waitBlock/2 {
				c.turns = min(2*c.turns, waitTurns)
			} else if took > 2*waitBlock {
				c.turns = max(c.turns/2, 8)
			}
		}
	})
	return ns
}

func (c *waitCell) inVain(pinned *pinnedThreads) (ns float64) {
	line := new(hopLine)
	pinned.step(func(thread int) {
		if thread == 0 {
			ns = perOperation(waitBlock, waitsPerCall, func(n int) { c.wait(&line.w, 0, uint64(n)) })
		}
	})
	return ns
}

func (c *waitCell) beside(pinned *pinnedThreads, waits bool) (ns float64) {
	line := new(hopLine)
	var over atomic.Bool
	pinned.step(func(thread int) {
		if thread > 0 {
			for waits && !over.Load() {
				c.wait(&line.w, 0, waitsPerCall)
			}
			return
		}
		defer over.Store(true)
		ns = perOperation(4*waitBlock, 1<<10, func(n int) { c.product ^= multiplyFour(n) })
	})
	return ns
}

// multiplyFour runs four chains of n multiplications: a core overlaps them, and shares its
// units.
//
//go:noinline
func multiplyFour(n int) (x uint64) {
	a, b, c, d := uint64(1), uint64(3), uint64(5), uint64(7)
	for range n {
		a, b, c, d = a*6364136223846793005+1, b*6364136223846793005+1, c*6364136223846793005+1, d*6364136223846793005+1
	}
	return a ^ b ^ c ^ d
}

func siblings(t machine.Topology) (cpus []int, err error) {
	for i, p := range t {
		for _, q := range t[i+1:] {
			if p.Relation(q) == machine.SMTSiblings {
				return []int{p.CPU, q.CPU}, nil
			}
		}
	}
	return nil, errors.New("as far as this system reports, no two CPUs that this process may use are threads of one core")
}

type waitBench struct {
	cells    []*waitCell
	apart    placement
	siblings []int
	absent   []string // names of ways that this machine lacks
	notes    []string
}

func newWaitBench() *waitBench {
	b := &waitBench{apart: apart()}
	for _, w := range allWays() {
		if err := w.available(); err != nil {
			b.absent, b.notes = append(b.absent, w.name), append(b.notes, fmt.Sprintf("%s: skipped: %v", w.name, err))
			continue
		}
		b.cells = append(b.cells, &waitCell{waitWay: w, turns: 64})
	}
	pair, err := siblings(machine.ReadTopology())
	if err == nil && b.apart.cpus[0] == unbound {
		pair, err = nil, errors.New("threads cannot be bound to CPUs here")
	}
	if err != nil {
		b.notes = append(b.notes, "cost to a neighbour: skipped: "+err.Error())
	}
	b.siblings = pair
	return b
}

func (b *waitBench) measure(ctx context.Context, span time.Duration) error {
	for _, c := range b.cells {
		c.blocks, c.vains, c.neighbours = nil, nil, nil
	}
	half := span
	if b.siblings != nil {
		half /= 2
	}
	err := b.turns(ctx, b.apart.cpus, half, func(p *pinnedThreads, c *waitCell) {
		c.blocks = append(c.blocks, c.block(p))
		c.vains = append(c.vains, c.inVain(p))
	})
	if err == nil && b.siblings != nil {
		err = b.turns(ctx, b.siblings, half, func(p *pinnedThreads, c *waitCell) {
			before, busy, after := c.beside(p, false), c.beside(p, true), c.beside(p, false)
			c.neighbours = append(c.neighbours, 2*busy/(before+after))
		})
	}
	if err != nil {
		return err
	}
	for _, c := range b.cells {
		c.handOver = append(c.handOver, stat.Median(c.blocks))
		c.vain = append(c.vain, stat.Median(c.vains))
		if b.siblings != nil {
			c.neighbour = append(c.neighbour, stat.Median(c.neighbours))
		}
	}
	return nil
}

func (b *waitBench) turns(ctx context.Context, cpus []int, span time.Duration, measure func(*pinnedThreads, *waitCell)) error {
	pinned, err := newPinnedThreads(cpus...)
	if err != nil {
		return err
	}
	defer pinned.close()
	return during(ctx, span, func() {
		for _, c := range b.cells {
			measure(pinned, c)
		}
	})
}

func runWaiting(ctx context.Context, o Options) (*result.Finding, error) {
	b := newWaitBench()
	b.notes = append(b.notes, ranOn(b.apart)...)
	return measureCells(ctx, o, 1, []cell{b}, b.finding)
}

func (b *waitBench) finding() *result.Finding {
	return &result.Finding{Answer: b.answer(), Tables: b.tables(), Notes: b.notes}
}

func (b *waitBench) tables() []result.Table {
	times := result.Table{Caption: "Handing a word from one CPU to another, by the waiter's instruction between two loads", Label: "wait by", Chart: result.Bars,
		Columns: []result.Column{{Name: "handover", Unit: "ns", Plot: true}, {Name: "one wait without a store", Unit: "ns"}}}
	cost := result.Table{Caption: "A computation next to a waiter on the other thread of its core, as a multiple of its time alone", Label: "wait by", Chart: result.Bars,
		Columns: []result.Column{{Name: "time", Unit: "times alone", Plot: true}}}
	for _, c := range b.cells {
		times.Rows = append(times.Rows, result.Row{Label: c.name, Cells: []result.Cell{summarize(c.handOver), summarize(c.vain)}})
		cost.Rows = append(cost.Rows, result.Row{Label: c.name, Cells: []result.Cell{summarize(c.neighbour)}})
	}
	if b.siblings == nil {
		return []result.Table{times}
	}
	return []result.Table{times, cost}
}

func (b *waitBench) answer() string {
	least := func(of func(*waitCell) []float64) *waitCell {
		return slices.MinFunc(b.cells, func(c, d *waitCell) int { return cmp.Compare(summarize(of(c)).Median, summarize(of(d)).Median) })
	}
	hint := b.cells[1]
	handOver := func(c *waitCell) []float64 { return c.handOver }
	fastest := least(handOver)
	text := fmt.Sprintf("A handover is fastest by %s, %s ns", fastest.name, number(summarize(fastest.handOver).Median))
	if fastest != hint {
		text += fmt.Sprintf("; by %s, as locks wait, it takes %s times that", hint.name, number(summarize(ratios(hint.handOver, fastest.handOver)).Median))
	}
	if b.siblings == nil {
		text += ". What it costs the other thread of the core could not be measured"
	} else {
		kindest := least(func(c *waitCell) []float64 { return c.neighbour })
		text += fmt.Sprintf(". The other thread of the core computes %s times as long next to %s, the least, and %s times next to %s",
			number(summarize(kindest.neighbour).Median), kindest.name, number(summarize(hint.neighbour).Median), hint.name)
	}
	if len(b.absent) > 0 {
		text += ". Not here: " + strings.Join(b.absent, "; ")
	}
	return text + "."
}
