package hardware

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"locklab/atomics"
	"locklab/harness/result"
)

// A fastPath takes and frees an uncontended lock n times; n > 0.
type fastPath struct {
	name string
	run  func(w *fastPathWords, n int)
}

type fastPathWords struct {
	_     atomics.CacheLinePad
	bare  uint32
	word  atomics.Uint32
	mutex sync.Mutex
	_     atomics.CacheLinePad
}

// Each loop is a function of its own so that the operations are inlined into it.
func fastPaths() []fastPath {
	paths := []fastPath{
		{"CompareAndSwap, StoreRelease", func(w *fastPathWords, n int) {
			for range n {
				w.word.CompareAndSwap(0, 1)
				w.word.StoreRelease(0)
			}
		}},
		{"CompareAndSwap, Store", func(w *fastPathWords, n int) {
			for range n {
				w.word.CompareAndSwap(0, 1)
				w.word.Store(0)
			}
		}},
		{"sync.Mutex", func(w *fastPathWords, n int) {
			for range n {
				w.mutex.Lock()
				//lint:ignore SA2001 an empty section is what is timed
				w.mutex.Unlock()
			}
		}},
	}
	if bareFastPath != nil {
		paths = slices.Insert(paths, 0, *bareFastPath)
	}
	return paths
}

// fastPathBatch makes blocks of 20 µs: long for the clock, short for changes of speed.
const fastPathBatch = 4096

// timeFastPaths times one block of each of paths, one immediately after the other, and appends
// the ns for an acquisition to each. So a slow machine affects all equally. The first path and
// the direction change with round, so that no path always follows the same one.
func timeFastPaths(paths []fastPath, w *fastPathWords, round int, ns [][]float64) {
	for k := range paths {
		i := (round/2 + k) % len(paths)
		if round%2 == 1 {
			i = len(paths) - 1 - i
		}
		start := time.Now()
		paths[i].run(w, fastPathBatch)
		ns[i] = append(ns[i], float64(time.Since(start))/fastPathBatch)
	}
}

type fastPathCell struct {
	paths     []fastPath
	cpu       int
	ns, ratio [][]float64 // for each path, a figure for each repeat; ratio is to the first path
}

func newFastPathCell(paths []fastPath, cpu int) *fastPathCell {
	return &fastPathCell{paths: paths, cpu: cpu, ns: make([][]float64, len(paths)), ratio: make([][]float64, len(paths))}
}

// measure times the paths in turn on one CPU, each for about span. It adds the median time of
// an acquisition, and the median of its ratios to the first path.
func (c *fastPathCell) measure(ctx context.Context, span time.Duration) error {
	pinned, err := newPinnedThreads(c.cpu)
	if err != nil {
		return err
	}
	defer pinned.close()
	const perStep = 100 // rounds, some milliseconds
	blocks := make([][]float64, len(c.paths))
	words := new(fastPathWords)
	round := 0
	err = during(ctx, span*time.Duration(len(c.paths)), func() {
		pinned.step(func(int) {
			for range perStep {
				timeFastPaths(c.paths, words, round, blocks)
				round++
			}
		})
	})
	if err != nil {
		return err
	}
	for i := range c.paths {
		c.ns[i] = append(c.ns[i], summarize(blocks[i]).Median)
		c.ratio[i] = append(c.ratio[i], summarize(ratios(blocks[i], blocks[0])).Median)
	}
	return nil
}

func (c *fastPathCell) table() result.Table {
	t := result.Table{Caption: "Taking and freeing an uncontended lock", Label: "instructions or calls", Chart: result.Bars,
		Columns: []result.Column{{Name: "time of both", Unit: "ns", Plot: true}, {Name: "times the first"}}}
	for i, p := range c.paths {
		t.Rows = append(t.Rows, result.Row{Label: p.name, Cells: []result.Cell{summarize(c.ns[i]), summarize(c.ratio[i])}})
	}
	return t
}

func (c *fastPathCell) answer() string {
	var others []string
	for i, p := range c.paths[1:] {
		others = append(others, fmt.Sprintf("%s times by %s", number(summarize(c.ratio[i+1]).Median), p.name))
	}
	return fmt.Sprintf("To take and free an uncontended lock costs, beside %s, %s.", c.paths[0].name, strings.Join(others, ", "))
}
