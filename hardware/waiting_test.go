package hardware

import (
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"locklab/atomics"
	"locklab/harness/locktest"
	"locklab/internal/machine"
	"locklab/internal/qemu"
	"locklab/internal/require"
)

// emulatedVariable marks a run under an emulator, in which WFE ends on its own.
const emulatedVariable = "LOCKLAB_EMULATED"

func forEachWay(t *testing.T, f func(t *testing.T, w waitWay)) {
	for _, w := range allWays() {
		t.Run(w.name, func(t *testing.T) {
			err := w.available()
			if err != nil && (os.Getenv(emulatedVariable) == "" || w.name != "LDAXR, WFE") {
				t.Skip(err)
			}
			f(t, w)
		})
	}
}

// TestWaits: a way returns at once if any bit of the word differs, otherwise after n waits.
func TestWaits(t *testing.T) {
	forEachWay(t, func(t *testing.T, w waitWay) {
		var line hopLine
		for _, v := range []uint64{0, 1, 1 << 31, 1 << 32, 1<<64 - 1} {
			line.w.Store(v)
			for _, n := range []uint64{1, 2, waitsPerCall} {
				if got := w.wait(&line.w, v, n); got != v {
					t.Errorf("%d waits while it is %#x return %#x", n, v, got)
				}
				for bit := range 64 {
					if got := w.wait(&line.w, v^1<<bit, n); got != v {
						t.Errorf("%d waits while it is %#x and not %#x return %#x", n, v, v^1<<bit, got)
					}
				}
			}
		}
	})
}

// TestWaitsSeeAStore: a wait ends when the other thread stores, and shows all stored before.
func TestWaitsSeeAStore(t *testing.T) {
	forEachWay(t, func(t *testing.T, w waitWay) {
		const turns = 400
		var line hopLine
		var data uint64 // guarded by line.w
		var errs [2]error
		var all sync.WaitGroup
		for me := range uint64(2) {
			all.Go(func() {
				for k := me; k < turns; k += 2 {
					w.await(&line.w, k)
					if data != k && errs[me] == nil {
						errs[me] = fmt.Errorf("turn %d found the data of turn %d", k, data)
					}
					data = k + 1
					line.w.StoreRelease(k + 1)
				}
			})
		}
		all.Wait()
		if err := errors.Join(errs[:]...); err != nil {
			t.Error(err)
		}
	})
}

// waitBytes are the expected machine code, in order, of instructions that the disassembler
// lacks. A branch contains its distance, so a loop is pinned completely.
var waitBytes = []struct {
	goarch, function string
	parts            []string
}{
	{"amd64", "umwait", []string{"f30faef7" + "4c8b0f" + "4939f1" + "751f" + "0f31", "4c01d0", "f20faef1" + "49ffc8" + "75d8" + "4c8b0f"}},
	{"amd64", "tpause", []string{"4c8b0f" + "4939f1" + "751f" + "0f31", "4c01d0", "660faef1" + "49ffc8" + "75dc" + "4c8b0f"}},
	{"amd64", "mwaitx", []string{"4889f8" + "31c9" + "31d2" + "0f01fa" + "4c8b0f" + "4939f1", "b8f0000000" + "b902000000", "0f01fb" + "49ffc8", "4c8b0f"}},
	{"arm64", "yield", []string{"c8dffc03" + "eb01007f", "d503203f" + "d1000442" + "b5ffff62" + "c8dffc03"}},
	{"arm64", "wfe", []string{"d50320bf" + "d503205f" + "c85ffc03" + "eb01007f", "d503205f" + "d1000442" + "b5ffff62" + "c8dffc03", "d5033f5f"}},
	{"arm64", "wfet", []string{"d50320bf" + "d503205f" + "c85ffc03" + "eb01007f", "d53be044" + "8b050084" + "d5031004" + "d1000442" + "b5ffff22" + "c8dffc03", "d5033f5f"}},
}

func TestWaitInstructions(t *testing.T) {
	if testing.Short() {
		t.Skip("make test-all runs it")
	}
	if locktest.RaceDetector {
		t.Skip("the assembly is the same without the race detector")
	}
	hexes := regexp.MustCompile(`(?m)^\s+\S+\s+0x[0-9a-f]+\s+([0-9a-f]+)\s`)
	for _, goarch := range []string{"amd64", "arm64"} {
		binary := qemu.TestBinary(t, goarch)
		out, err := exec.CommandContext(t.Context(), "go", "tool", "objdump", "-s", `/hardware\.(umwait|tpause|mwaitx|yield|wfe|wfet)\.abi0$`, binary).CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		for _, want := range waitBytes {
			if want.goarch != goarch {
				continue
			}
			_, body, found := strings.Cut(string(out), "hardware."+want.function+".abi0(SB)")
			body, _, _ = strings.Cut(body, "\nTEXT ")
			var code string
			for _, m := range hexes.FindAllStringSubmatch(body, -1) {
				code += m[1]
			}
			at := 0
			for _, part := range want.parts {
				i := strings.Index(code[at:], part)
				if i < 0 {
					t.Errorf("%s: %s (in the binary: %v) has no %s after the %d first digits of %s:\n%s", goarch, want.function, found, part, at, code, body)
					break
				}
				at += i + len(part)
			}
		}
	}
}

func TestSiblings(t *testing.T) {
	place := func(cpu, core int) machine.Place { return machine.Place{CPU: cpu, Core: core} }
	if cpus, err := siblings(machine.Topology{place(0, 0), place(1, 1), place(2, 0), place(3, 1)}); err != nil || !slices.Equal(cpus, []int{0, 2}) {
		t.Errorf("siblings are %v, %v", cpus, err)
	}
	if cpus, err := siblings(machine.Topology{place(0, 0), place(1, 1)}); err == nil {
		t.Errorf("siblings are %v", cpus)
	}
}

func waitedBench(pair []int, absent ...string) *waitBench {
	cell := func(name string, handOver, neighbour float64) *waitCell {
		return &waitCell{waitWay: waitWay{name: name}, handOver: []float64{handOver}, vain: []float64{1}, neighbour: []float64{neighbour}}
	}
	return &waitBench{siblings: pair, absent: absent, notes: []string{"why"}, cells: []*waitCell{cell("loads", 40, 2), cell("hint", 100, 1.5), cell("deep", 400, 1)}}
}

func TestWaitingAnswer(t *testing.T) {
	for _, tc := range []struct {
		bench *waitBench
		want  string
	}{
		{waitedBench([]int{0, 1}), "A handover is fastest by loads, 40 ns; by hint, as locks wait, it takes 2.5 times that. The other thread of the core computes 1 times as long next to deep, the least, and 1.5 times next to hint."},
		{waitedBench(nil, "way A"),
			"A handover is fastest by loads, 40 ns; by hint, as locks wait, it takes 2.5 times that. What it costs the other thread of the core could not be measured. Not here: way A."},
	} {
		f := tc.bench.finding()
		require.Equal(t, "answer", f.Answer, tc.want)
		if want := 1 + min(1, len(tc.bench.siblings)); len(f.Tables) != want || !slices.Equal(f.Notes, tc.bench.notes) {
			t.Errorf("%d tables, want %d; notes %q", len(f.Tables), want, f.Notes)
		}
		requireTables(t, f.Tables...)
	}
}

// TestBlockCountsItsHandovers: by a clock that only waits advance, a handover takes as long as its wait.
func TestBlockCountsItsHandovers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pinned, err := newPinnedThreads(unbound, unbound)
		requireNoError(t, err)
		defer pinned.close()
		c := &waitCell{turns: 8, waitWay: waitWay{wait: func(p *atomics.Uint64, v, _ uint64) uint64 {
			for p.Load() == v {
				time.Sleep(time.Microsecond)
			}
			time.Sleep(min(time.Millisecond, time.Duration(v+1)*time.Millisecond)) // none before turn 0
			return p.Load()
		}}}
		if ns := c.block(pinned); math.Abs(ns/1e6-1) > 0.01 {
			t.Errorf("a handover of 1 ms takes %v ns", ns)
		}
	})
}

// TestWaitingNeighbour measures a neighbour on two CPUs of any kind.
func TestWaitingNeighbour(t *testing.T) {
	b := newWaitBench()
	b.siblings = b.apart.cpus
	requireNoError(t, b.measure(t.Context(), time.Millisecond))
	for _, c := range b.cells {
		if len(c.handOver) != 1 || c.handOver[0] <= 0 || len(c.vain) != 1 || c.vain[0] <= 0 || len(c.neighbour) != 1 || c.neighbour[0] <= 0 {
			t.Errorf("%s: %+v", c.name, c)
		}
	}
	requireFinding(t, b.finding())
}
