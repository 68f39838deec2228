package hardware

import (
	"context"
	"locklab/internal/stat"
	"math/rand/v2"
	"sync/atomic"
	"time"
	"unsafe"
)

// A callSize is the number of accesses in one call of assembly, which the runtime cannot interrupt: a call
// that took long makes the next one shorter. The zero value starts with one.
type callSize struct{ n uint64 }

// The length of a call: long for the clock, short for a garbage collection that waits.
const (
	shortCall = 250 * time.Microsecond
	longCall  = time.Millisecond
	mostCalls = 4096 // accesses
)

// call runs f. steady is false while the size changes: the clock may be much of the time.
func (p *callSize) call(f func(n uint64)) (took time.Duration, accesses uint64, steady bool) {
	accesses = max(1, p.n)
	start := time.Now()
	f(accesses)
	took = time.Since(start)
	p.n = accesses
	switch {
	case took > longCall:
		p.n = max(1, accesses/2)
	case took < shortCall:
		p.n = min(mostCalls, 2*accesses)
	}
	return took, accesses, p.n == accesses
}

type aggressor struct {
	run  func(p *byte, n uint64)
	at   *byte
	size callSize
}

type neighbour struct {
	name  string
	batch int // operations between two readings of the clock, about 0.1 ms alone
	work  func(n int)
}

// neighbours returns workloads ever farther from the core, from the registers on.
func neighbours(levels []footprint, rng *rand.Rand) []neighbour {
	x := uint64(1)
	own := alignedBytes(lineBytes, lineBytes)
	ns := []neighbour{{"registers", 1 << 16, func(n int) { x = multiply(x, n) }}}
	for _, level := range levels {
		ns = append(ns, neighbour{level.name, level.batch, newChain(level.bytes, rng).walk})
	}
	for _, a := range splitAccesses[:min(1, len(splitAccesses))] {
		ns = append(ns, neighbour{"a word of its own (" + a.name + ")", mostCalls, func(n int) { a.run(&own[0], uint64(n)) }})
	}
	return ns
}

// multiply is a chain of n operations in registers.
//
//go:noinline
func multiply(x uint64, n int) uint64 {
	for range n {
		x = x*6364136223846793005 + 1442695040888963407
	}
	return x
}

// A chain is a walk through memory: each load, one in each line, gives the address of the
// next, in an order that no prefetcher guesses.
type chain struct {
	next []uint32
	at   uint32
}

func newChain(bytes int, rng *rand.Rand) *chain {
	const words = lineBytes / 4
	order := rng.Perm(bytes / lineBytes)
	c := &chain{next: make([]uint32, len(order)*words)}
	for i, from := range order {
		c.next[from*words] = uint32(order[(i+1)%len(order)] * words)
	}
	return c
}

func (c *chain) walk(n int) {
	at := c.at
	for range n {
		at = c.next[at]
	}
	c.at = at
}

// alignedBytes returns n bytes at a multiple of align. The size is not constant, so they are
// on the heap, which does not move.
//
//go:noinline
func alignedBytes(n, align int) []byte {
	b := make([]byte, n+align)
	skip := -uintptr(unsafe.Pointer(unsafe.SliceData(b))) % uintptr(align)
	return b[skip:][:n:n]
}

func (c *splitCell) measure(ctx context.Context, span time.Duration) error {
	var calls []float64
	at := c.bench.at(c.place)
	for len(calls) == 0 { // until the size is steady
		err := during(ctx, span, func() {
			c.bench.pinned.step(func(thread int) {
				if thread == 0 {
					return
				}
				for start := time.Now(); time.Since(start) < min(span, splitWindow); {
					took, n, steady := c.size.call(func(n uint64) { c.access.run(at, n) })
					if steady {
						calls = append(calls, float64(took)/float64(n))
					}
				}
			})
		})
		if err != nil {
			return err
		}
	}
	c.ns = append(c.ns, stat.Median(calls))
	return nil
}

const splitWindow = 2 * time.Millisecond

func (c *neighbourCell) measure(ctx context.Context, span time.Duration) error {
	var idle, inside, split, rates []float64
	err := during(ctx, 3*span, func() {
		ns, _ := c.bench.window(c.work, nil)
		idle = append(idle, ns)
		ns, _ = c.bench.window(c.work, &c.bench.inside)
		inside = append(inside, ns)
		ns, rate := c.bench.window(c.work, &c.bench.across)
		split, rates = append(split, ns), append(rates, rate)
	})
	if err != nil {
		return err
	}
	c.idle, c.inside = append(c.idle, stat.Median(idle)), append(c.inside, stat.Median(inside))
	c.split, c.rate = append(c.split, stat.Median(split)), append(c.rate, stat.Median(rates))
	return nil
}

func (b *splitBench) window(n neighbour, a *aggressor) (ns, rate float64) {
	var over atomic.Bool
	b.pinned.step(func(thread int) {
		if thread == 0 {
			ns = perOperation(splitWindow, n.batch, n.work)
			over.Store(true)
			return
		}
		if a == nil {
			return
		}
		made, busy := uint64(0), time.Duration(0)
		for made == 0 || !over.Load() {
			took, n, _ := a.size.call(func(n uint64) { a.run(a.at, n) })
			made, busy = made+n, busy+took
		}
		rate = float64(made) / busy.Seconds()
	})
	return ns, rate
}

type footprint struct {
	name  string
	bytes int
	batch int
}

// footprints are at most half of the first two levels of any amd64 CPU, and more than the
// last level of most, so that a random walk hardly ever hits.
var footprints = []footprint{
	{"L1 (16 KiB)", 16 << 10, 1 << 14},
	{"L2 (128 KiB)", 128 << 10, 1 << 13},
	{"memory (256 MiB)", 256 << 20, 1 << 10},
}
