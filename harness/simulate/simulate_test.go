//go:build systematic && simulate

package simulate_test

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"

	"locklab/atomics"
	"locklab/harness"
	"locklab/harness/result"
	"locklab/harness/simulate"
	"locklab/internal/require"
	"locklab/spinlock/lab"
)

func section(workers int) simulate.Workload {
	return simulate.Workload{Workers: workers, Lines: 1, Hold: 10, Think: 10, Wait: harness.WaitPause, Acquisitions: 400, Warm: 50, Seed: 1}
}

// machine has a number for every rule of the model.
func machine(t testing.TB) *simulate.Machine {
	return &simulate.Machine{
		Name: "test", Sockets: 2, Clusters: 2, Cores: 4, SMT: 2,
		Hit: 1.3, Store: 0.4, RMW: 5, Fence: 4, Pause: 12,
		Transfer: [4]float64{8, 30, 70, 120}, Shared: [4]float64{1.3, 20, 55, 95}, Upgrade: [4]float64{8, 60, 80, 120},
		Memory: 80, Occupy: 7, Ack: 0.5, Window: 0.3, Favour: 4, Jitter: 0.1, Reach: 20, Sibling: 1.4, Home: 40,
	}
}

func eachLock(t *testing.T, workers int, f func(t *testing.T, v *harness.Variant)) {
	t.Helper()
	n := 0
	for _, v := range lab.Suite {
		if v.Status == harness.Broken || v.Status == harness.Historical || simulate.CheckVariant(v, workers) != nil {
			continue
		}
		n++
		t.Run(fmt.Sprintf("%s/%d", v.Name, workers), func(t *testing.T) { f(t, v) })
	}
	if n < 15 {
		t.Errorf("%d locks: too few", n)
	}
}

// TestRepeats runs every spin lock twice with one seed, at other addresses, and with another.
func TestRepeats(t *testing.T) {
	m := machine(t)
	var litter [][]byte
	for _, workers := range []int{2, 8} {
		eachLock(t, workers, func(t *testing.T, v *harness.Variant) {
			w := section(workers)
			a, err := simulate.Run(m, w, v.Local)
			require.NoError(t, err)
			for size := 16; size < 4096; size += 48 {
				litter = append(litter, make([]byte, size))
			}
			b, err := simulate.Run(m, w, v.Local)
			if err != nil || a != b {
				t.Errorf("%v, %v\nthen %v", err, a, b)
			}
			w.Seed = 2
			if c, err := simulate.Run(m, w, v.Local); err != nil || a == c {
				t.Errorf("%v, %v with another seed too", err, a)
			}
		})
	}
	if len(litter) == 0 {
		t.Error("nothing was allocated between the runs")
	}
}

// TestDozing compares waiters that doze with waiters that make every poll as an event:
// within 1 %. It uses more seeds if the two differ more, since some locks are chaotic.
func TestDozing(t *testing.T) {
	m := machine(t)
	counts := []int{2, 8, 24}
	if testing.Short() {
		counts = counts[:2] // make test-all runs the rest
	}
	for _, workers := range counts {
		var dozing, exact int64
		eachLock(t, workers, func(t *testing.T, v *harness.Variant) {
			for _, seeds := range []int{2, 20} {
				a, steps := meanTime(t, m, v, workers, seeds, false)
				b, all := meanTime(t, m, v, workers, seeds, true)
				dozing, exact = dozing+steps, exact+all
				if d := math.Abs(a/b - 1); d <= 0.01 {
					break
				} else if seeds > 2 {
					t.Errorf("%.2f ns, exactly %.2f: %.2f %% apart over %d seeds", a, b, 100*d, seeds)
				}
			}
		})
		t.Logf("%d workers: %d events, exactly %d", workers, dozing, exact)
		if workers == 24 && dozing > exact/2 {
			t.Errorf("%d workers: %d events, and without dozing %d", workers, dozing, exact)
		}
	}
}

func meanTime(t *testing.T, m *simulate.Machine, v *harness.Variant, workers, seeds int, exact bool) (ns float64, steps int64) {
	w := section(workers)
	w.Acquisitions, w.Exact = 1500, exact
	for range seeds {
		r, err := simulate.Run(m, w, v.Local)
		require.NoError(t, err)
		ns += r.PerAcquisition / float64(seeds)
		steps += r.Steps
		w.Seed++
	}
	return ns, steps
}

func TestInvariants(t *testing.T) {
	m := machine(t)
	eachLock(t, 12, func(t *testing.T, v *harness.Variant) {
		w := section(12)
		for _, w.Spread = range []bool{false, true} {
			if _, err := simulate.RunChecked(m, w, v.Local); err != nil {
				t.Error(err)
			}
		}
	})
}

func TestBrokenLocks(t *testing.T) {
	m := machine(t)
	for _, tc := range []struct {
		name    string
		workers int
		lock    sync.Locker
		want    error // that it wraps, if not nil
		text    string
	}{
		{"none", 3, new(noLock), simulate.ErrTwoHolders, "hold the lock: "},
		{"load and store", 3, new(racy), simulate.ErrTwoHolders, "hold the lock: "},
		{"never released", 3, new(keeps), simulate.ErrStuck, "no worker takes the lock for 2 ms, after 1 acq"},
		{"never released to one", 1, new(keeps), simulate.ErrStuck, "no worker takes the lock for 2 ms, after 1 acq"},
		{"waits without a hint", 2, &keeps{busy: true}, simulate.ErrStuck, "no worker takes the lock"},
		{"and alone", 1, &keeps{busy: true}, simulate.ErrStuck, "no worker takes the lock"},
		{"panics", 3, new(panics), nil, "panicked: of no use"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := simulate.Run(m, section(tc.workers), func(harness.Setup) harness.Local { return harness.Shared(tc.lock) })
			if err == nil || tc.want != nil && !errors.Is(err, tc.want) || !strings.Contains(fmt.Sprint(err), tc.text) {
				t.Errorf("error %v, want %q", err, tc.text)
			}
		})
	}
}

// TestBrokenVariants: the model finds locks without a fence, or reports that it lacks them.
func TestBrokenVariants(t *testing.T) {
	m, n := machine(t), 0
	m.Upgrade[3] = 300 // a store stays long in the buffer
	for _, v := range lab.Suite {
		if v.Status != harness.Broken {
			continue
		}
		n++
		t.Run(v.Name, func(t *testing.T) {
			bare := *v
			bare.Unavailable = ""
			w := section(2) // long thinking: both have read that the other does not want the lock
			w.Acquisitions, w.Hold, w.Think, w.Spread = 20_000, 200, 500, true
			if _, err := simulate.Simulate(t.Context(), m, &bare, w, 5); !errors.Is(err, simulate.ErrTwoHolders) {
				t.Errorf("error %v, want %v", err, simulate.ErrTwoHolders)
			}
		})
	}
	if n == 0 {
		t.Error("the lab has no broken lock")
	}
}

type noLock struct{}

func (*noLock) Lock()   {}
func (*noLock) Unlock() {}

type racy struct{ held atomics.Uint32 }

func (l *racy) Lock() {
	for l.held.Load() != 0 {
		atomics.SpinHint(1)
	}
	l.held.StoreRelease(1)
}
func (l *racy) Unlock() { l.held.StoreRelease(0) }

type keeps struct {
	held atomics.Uint32
	busy bool
}

func (l *keeps) Lock() {
	for l.held.Swap(1) != 0 {
		for l.held.Load() != 0 {
			if !l.busy {
				atomics.SpinHint(1)
			}
		}
	}
}
func (l *keeps) Unlock() {}

type panics struct {
	held  atomics.Uint32
	taken int
}

func (l *panics) Lock() {
	defer l.held.Load() // a lock may clean up like this
	for l.held.Swap(1) != 0 {
		atomics.SpinHint(1)
	}
	if l.taken++; l.taken == 5 {
		panic("of no use")
	}
}
func (l *panics) Unlock() { l.held.StoreRelease(0) }

func TestRefusals(t *testing.T) {
	m := machine(t)
	find := func(name string) *harness.Variant {
		i := slices.IndexFunc(lab.Suite, func(v *harness.Variant) bool { return v.Name == name })
		return lab.Suite[i]
	}
	remote := &harness.Variant{Name: "far", Family: harness.Redis}
	for _, tc := range []struct {
		lock   *harness.Variant
		change func(w *simulate.Workload)
		seeds  int
		want   string
	}{
		{find("peterson"), func(w *simulate.Workload) { w.Workers = 3 }, 1, "peterson serves at most 2 workers, not 3"},
		{remote, nil, 1, "far is of the family redis"},
		{find("mcs"), func(w *simulate.Workload) { w.Workers = 33 }, 1, "33 workers, and test has 32 hardware threads"},
		{find("mcs"), func(w *simulate.Workload) { w.Workers = 0 }, 1, "0 workers"},
		{find("mcs"), func(w *simulate.Workload) { w.Wait = harness.WaitPark }, 1, "wait policy park sleeps or yields"},
		{find("mcs"), func(w *simulate.Workload) { w.Wait = harness.WaitAdaptive }, 1, "wait policy adaptive sleeps or yields"},
		{find("mcs"), func(w *simulate.Workload) { w.Hold = math.NaN() }, 1, "hold time NaN ns"},
		{find("mcs"), func(w *simulate.Workload) { w.Think = -1 }, 1, "think time -1 ns"},
		{find("mcs"), func(w *simulate.Workload) { w.Lines = 1 << 20 }, 1, "1048576 lines"},
		{find("mcs"), nil, 0, "0 seeds"},
	} {
		w := section(2)
		if tc.change != nil {
			tc.change(&w)
		}
		_, err := simulate.Simulate(t.Context(), m, tc.lock, w, tc.seeds)
		if err == nil || !strings.Contains(err.Error(), tc.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("error %v, want one line with %q", err, tc.want)
		}
	}
}

func local(l sync.Locker) *harness.Variant {
	return &harness.Variant{Name: "mine", Family: harness.Spin, Local: func(harness.Setup) harness.Local { return harness.Shared(l) }}
}

// TestUnseen: Simulate refuses a lock without words of atomics, and one that panics.
func TestUnseen(t *testing.T) {
	for want, l := range map[string]sync.Locker{
		"mine is taken without a word of package atomics: the model does not see it": new(sync.Mutex),
		"mine with one worker panicked: of no use":                                   &panics{taken: 4},
	} {
		_, err := simulate.Simulate(t.Context(), machine(t), local(l), section(2), 1)
		if err == nil || err.Error() != "simulate: "+want {
			t.Errorf("error %v, want %s", err, want)
		}
	}
}

func TestRunRefuses(t *testing.T) {
	i := slices.IndexFunc(lab.Suite, func(v *harness.Variant) bool { return v.Name == "peterson" })
	_, err := simulate.Run(machine(t), section(3), lab.Suite[i].Local)
	if err == nil || !strings.Contains(err.Error(), "a lock for 3 workers: ") || strings.Contains(err.Error(), "\n") {
		t.Errorf("error %v, want one line about 3 workers", err)
	}
}

func TestSimulate(t *testing.T) {
	m, w := machine(t), section(4)
	v := lab.Suite[0]
	s, err := simulate.Simulate(t.Context(), m, v, w, 4)
	require.NoError(t, err)
	var xs []float64
	for range 4 {
		r, err := simulate.Run(m, w, v.Local)
		require.NoError(t, err)
		xs = append(xs, r.Longest)
		w.Seed++
	}
	slices.Sort(xs)
	if want := (result.Expected{Median: (xs[1] + xs[2]) / 2, Lo: xs[0], Hi: xs[3]}); s.Longest != want || xs[0] == xs[3] {
		t.Errorf("longest wait %v, want %v", s.Longest, want)
	}
	if s.Simulated != "test" || s.Lock.Name != v.Name || s.Seeds != 4 || s.Seed != 1 {
		t.Errorf("%+v", s)
	}
}
