//go:build systematic

package explore_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"locklab/atomics"
	"locklab/harness"
	"locklab/internal/explore"
	"locklab/internal/leaktest"
	"locklab/internal/require"
)

// unlockedIncrements returns a program that counts without a lock.
func unlockedIncrements() explore.Program {
	var count atomics.Uint32
	add := func(*explore.Worker) { count.Store(count.Load() + 1) }
	return explore.Program{
		Workers: []func(*explore.Worker){add, add},
		Shared:  &struct{ count *atomics.Uint32 }{&count},
		Final: func() error {
			if n := count.Load(); n != 2 {
				return fmt.Errorf("%d counted, want 2", n)
			}
			return nil
		},
	}
}

func TestLostUpdate(t *testing.T) {
	r := explore.Explore(unlockedIncrements, limits)
	if r.Failure == nil || !errors.Is(r.Failure, explore.ErrFinal) || r.Failure.Preemptions != 1 {
		t.Fatalf("got %+v, want a lost update after one preemption", r)
	}
	const want = `explore: wrong result when all have finished: 1 counted, want 2
after 1 preemptions and 0 reorderings:
   1  worker 1  count.Load() = 0
   2  worker 1  is preempted
   3  worker 0  count.Load() = 0
   4  worker 0  count.Store(1), was 0
   5  worker 1  count.Store(1), was 1
`
	require.Equal(t, "the failure", r.Failure.Error(), want)
}

// TestTraceOfStoreBuffer checks that a trace contains a late store.
func TestTraceOfStoreBuffer(t *testing.T) {
	v := &harness.Variant{Local: func(s harness.Setup) harness.Local { return newParking(s.Workers, plainRelease) }}
	r := explore.Explore(explore.Lock(v, explore.Use{Acquisitions: []int{1, 1}}), limits)
	if r.Failure == nil {
		t.Fatal("no failure")
	}
	for _, want := range []string{"goes on before its stores are visible", "= 0 is visible now, was 1", "sleeps on", "calls Lock", "is inside", "leaves"} {
		if !strings.Contains(r.Failure.Trace, want) {
			t.Errorf("no %q in\n%s", want, r.Failure.Trace)
		}
	}
}

func TestPanicIsAFailure(t *testing.T) {
	r := explore.Explore(func() explore.Program {
		var word atomics.Uint32
		return explore.Program{Workers: []func(*explore.Worker){
			func(*explore.Worker) { word.Store(1) },
			func(*explore.Worker) {
				if word.Load() == 1 {
					panic("out of nodes")
				}
			},
		}}
	}, limits)
	if r.Failure == nil || !errors.Is(r.Failure, explore.ErrPanic) || !strings.Contains(r.Failure.Error(), "worker 1: out of nodes") {
		t.Errorf("got %v, want the panic", r.Failure)
	}
}

// TestWaitersWithoutHint explores waiters that poll without a SpinHint: they count as waiting.
func TestWaitersWithoutHint(t *testing.T) {
	for name, try := range map[string]func(*atomics.Uint32) bool{
		"Load":           func(held *atomics.Uint32) bool { return held.Load() == 0 && held.CompareAndSwap(0, 1) },
		"CompareAndSwap": func(held *atomics.Uint32) bool { return held.CompareAndSwap(0, 1) },
		"Swap":           func(held *atomics.Uint32) bool { return held.Swap(1) == 0 },
	} {
		for _, frees := range []bool{true, false} {
			r := explore.Explore(func() explore.Program {
				var held atomics.Uint32
				acquire := func(*explore.Worker) {
					for !try(&held) {
					}
					if frees {
						held.StoreRelease(0)
					}
				}
				return explore.Program{Workers: []func(*explore.Worker){acquire, acquire}}
			}, limits)
			switch {
			case frees && r.Failure != nil:
				t.Errorf("%s: %v", name, r.Failure)
			case !frees && (r.Failure == nil || !errors.Is(r.Failure, explore.ErrDeadlock)):
				t.Errorf("%s: got %v, want a deadlock", name, r.Failure)
			}
		}
	}
}

// TestParker explores the Parker: a worker that two others signal twice each, and two workers
// that alternate, in which each Park must return by the intended Unpark.
func TestParker(t *testing.T) {
	for name, build := range map[string]func() explore.Program{"many wake one": manyWakeOne, "in turn": alternatingProgram} {
		if r := explore.Explore(build, limits); r.Failure != nil {
			t.Errorf("%s: %v", name, r.Failure)
		}
	}
}

// manyWakeOne signals by plain stores, which an Unpark that finds a permit makes visible too.
func manyWakeOne() explore.Program {
	p := atomics.NewParker()
	var done [2]atomics.Uint32
	wake := func(w *explore.Worker) {
		for i := range 2 {
			done[w.ID()].StoreRelease(uint32(i + 1))
			p.Unpark()
		}
	}
	return explore.Program{Shared: p, Workers: []func(*explore.Worker){wake, wake, func(*explore.Worker) {
		for done[0].Load()+done[1].Load() < 4 {
			p.Park()
		}
	}}}
}

func alternatingProgram() explore.Program {
	ping, pong := atomics.NewParker(), atomics.NewParker()
	var round atomics.Uint32
	return explore.Program{Shared: [2]*atomics.Parker{ping, pong}, Workers: []func(*explore.Worker){
		func(*explore.Worker) {
			for range 3 {
				round.Add(1)
				ping.Unpark()
				pong.Park()
			}
		},
		func(w *explore.Worker) {
			for i := range 3 {
				ping.Park()
				if n := round.Load(); n != uint32(i+1) {
					w.Fail(fmt.Errorf("Park %d returns in round %d", i+1, n))
				}
				pong.Unpark()
			}
		},
	}}
}

// TestProgramMustRepeatItself explores one that changes from run to run.
func TestProgramMustRepeatItself(t *testing.T) {
	runs := 0
	r := explore.Explore(func() explore.Program {
		runs++
		bad := runs == 2
		p := unlockedIncrements()
		p.Final = func() error {
			if bad {
				return errors.New("once")
			}
			return nil
		}
		return p
	}, limits)
	if r.Failure == nil || !strings.Contains(r.Failure.Error(), "does not repeat itself") {
		t.Errorf("got %v, want a failure that says that the program does not repeat itself", r.Failure)
	}
}

// TestGoroutinesEnd checks that an exploration leaves none behind, whether it fails or not.
func TestGoroutinesEnd(t *testing.T) {
	leaktest.All(t)
	for _, m := range mutants[:3] {
		explore.Explore(m.program(m.bug), limits)
		explore.Explore(m.program(""), limits)
	}
}
