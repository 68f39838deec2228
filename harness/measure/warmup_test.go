package measure

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"locklab/harness"
	"locklab/harness/oracle"
	"locklab/harness/result"
)

func coldLock(name string, status harness.Status) *harness.Variant {
	return &harness.Variant{Name: name, Status: status, Traits: harness.Traits{Needs: harness.KindZooKeeper}}
}

// TestWarming: a warm-up ends when the cost stops falling, or at its time limit.
func TestWarming(t *testing.T) {
	const each = 200 * time.Millisecond
	lock := coldLock("lock", harness.Correct)
	one, two := Case{Lock: lock, Workload: workload(1)}, Case{Lock: lock, Workload: workload(2)}
	falling := func(at time.Duration) float64 { return 400 + 2000*max(0, 1-at.Seconds()/10) } // for 10 s
	flat := func(time.Duration) float64 { return 400 }
	for _, test := range []struct {
		name   string
		cases  []Case
		cost   func(time.Duration) float64
		ops    uint64
		most   time.Duration
		steady bool
		least  time.Duration // that it takes
		longer time.Duration // than that at most
	}{
		{"steady at once", []Case{one}, flat, 1000, time.Minute, true, 2 * warmStretch, each},
		{"steady later", []Case{one, two}, falling, 1000, time.Minute, true, 12 * time.Second, 2*warmStretch + each},
		{"never steady", []Case{one}, func(at time.Duration) float64 { return 1e6 / (1 + at.Seconds()) }, 1000, 20 * time.Second, false, 20 * time.Second, each},
		{"few acquisitions say little", []Case{one}, flat, 100, time.Minute, true, 2 * warmOps / 100 * each, each},
		{"a short time", []Case{one, two}, flat, 1000, time.Second, false, time.Second, each},
		{"no time", []Case{one}, flat, 1000, 0, false, 0, 0},
		{"no case", nil, flat, 1000, time.Minute, false, 0, 0},
		{"no acquisition", []Case{one}, flat, 0, time.Minute, false, each, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				begin := time.Now()
				w := warming{cases: slices.Clone(test.cases), begin: begin, most: test.most}
				w.drive = func(c Case) (*result.Result, error) {
					time.Sleep(each)
					r := &result.Result{Ops: test.ops}
					r.Elapsed = time.Duration(float64(test.ops) * test.cost(time.Since(begin)) * float64(c.Workload.Workers))
					return r, nil
				}
				requireNoError(t, w.run(t.Context()))
				took := time.Since(begin)
				if w.said.Steady != test.steady || w.said.Took != took || took < test.least || took > test.least+test.longer {
					t.Errorf("%+v after %v; want steady %t after %v to %v", w.said, took, test.steady, test.least, test.least+test.longer)
				}
				if len(test.cases) > 0 && test.ops > 0 && test.most > 0 && !(w.said.Last > 0 && w.said.First > 0) {
					t.Errorf("%+v: no costs", w.said)
				}
			})
		})
	}
}

// TestWarmingFailures: a failing case affects no other; the lab's errors and ctx end it.
func TestWarmingFailures(t *testing.T) {
	good, bad := Case{Lock: coldLock("good", ""), Workload: workload(1)}, Case{Lock: coldLock("bad", ""), Workload: workload(1)}
	broken := errors.New("broken")
	for _, test := range []struct {
		name string
		give func(cancel func()) (*result.Result, error) // of bad
		want error
		left int // cases
	}{
		{"violation", func(func()) (*result.Result, error) {
			return &result.Result{Ops: 1, Violations: []oracle.Violation{{Rule: "exclusion"}}}, nil
		}, nil, 1},
		{"lost", func(func()) (*result.Result, error) { return nil, &lostError{err: broken} }, nil, 1},
		{"error", func(func()) (*result.Result, error) { return nil, broken }, broken, 2},
		{"interrupted", func(cancel func()) (*result.Result, error) { cancel(); return nil, broken }, context.Canceled, 2},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				w := warming{cases: []Case{good, bad}, begin: time.Now(), most: 5 * time.Second}
				w.drive = func(c Case) (*result.Result, error) {
					time.Sleep(time.Second)
					if c.Lock == bad.Lock {
						return test.give(cancel)
					}
					return &result.Result{Ops: 1, Elapsed: 1}, nil
				}
				if err := w.run(ctx); !errors.Is(err, test.want) || len(w.cases) != test.left {
					t.Errorf("%v with %d cases left, want %v with %d", err, len(w.cases), test.want, test.left)
				}
			})
		})
	}
}

// TestWarmable: the cases that servers will serve, once, near, closed, with few workers.
func TestWarmable(t *testing.T) {
	lock, loop := coldLock("lock", harness.Correct), coldLock("loop", harness.Correct)
	loop.Loop = func(context.Context, harness.Endpoint, string, harness.Workload) (*harness.LoopLog, error) {
		return nil, nil
	}
	of := func(v *harness.Variant, change func(w *harness.Workload)) Case {
		c := Case{Lock: v, Workload: workload(8)}
		c.Workload.Hold = harness.Span{}
		change(&c.Workload)
		return c
	}
	near := Site{Kind: harness.KindZooKeeper, Servers: 3}
	all := []Case{
		of(lock, func(w *harness.Workload) { w.Servers, w.Delay = 3, time.Millisecond }),
		of(lock, func(w *harness.Workload) { w.Servers = 3 }),
		of(lock, func(w *harness.Workload) { w.Servers, w.Rate, w.Deadline = 3, 100, time.Second }),
		of(lock, func(w *harness.Workload) { w.Servers, w.Workers, w.Clients, w.Ranks = 3, 1000, 100, 5 }),
		of(lock, func(w *harness.Workload) { w.Servers, w.Workers = 3, 500 }),
		of(lock, func(*harness.Workload) {}), // another site
		of(loop, func(w *harness.Workload) { w.Servers = 3 }),
		of(coldLock("old", harness.Historical), func(w *harness.Workload) { w.Servers = 3 }),
		{Lock: good, Workload: workload(8)},
	}
	var names []string
	for _, c := range warmable(all, near) {
		names = append(names, c.Name())
		if c.Site() != near || c.Workload.Window != warmWindow || c.Workload.Validate() != nil {
			t.Errorf("%s at %+v for %v: %v", c.Name(), c.Site(), c.Workload.Window, c.Workload.Validate())
		}
	}
	want := []string{
		"lock=lock/workers=8/servers=3/hold=0s",
		"lock=lock/workers=16/clients=16/servers=3/hold=0s",
		"lock=lock/workers=16/servers=3/hold=0s",
	}
	if !slices.Equal(names, want) {
		t.Errorf("%q, want %q", names, want)
	}
	if all[0].Workload.Delay == 0 {
		t.Error("the plan's own cases were changed")
	}
}
