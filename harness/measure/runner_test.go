package measure

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"locklab/harness"
	"locklab/harness/oracle"
	"locklab/harness/result"
)

// The locks of these tests: one that works, and one for every promise that can be violated.
var (
	good   = localLock("good", harness.Traits{}, func() sync.Locker { return new(sync.Mutex) })
	single = localLock("single", harness.Traits{MaxWorkers: 1}, func() sync.Locker { return new(sync.Mutex) })
	busted = localLock("busted", harness.Traits{}, func() sync.Locker { return nothing{} })
	stuck  = localLock("stuck", harness.Traits{}, func() sync.Locker { return new(forgetful) })
	hang   = localLock("hang", harness.Traits{}, func() sync.Locker { select {} }) // never gets ready
	crash  = localLock("crash", harness.Traits{}, func() sync.Locker { panic("no such luck") })

	unreachable = remoteLock("unreachable", func() harness.Remote { select {} }) // its servers do not answer
	deaf        = remoteLock("deaf", func() harness.Remote { return deafClient{} })
)

// Locks with readers; two of them are broken.
var (
	readers        = localLock("readers", harness.Traits{ReadWrite: true}, func() sync.Locker { return new(sync.RWMutex) })
	optimist       = localLock("optimist", harness.Traits{ReadWrite: true}, func() sync.Locker { return new(sequence) })
	forgetsReaders = localLock("forgets-readers", harness.Traits{ReadWrite: true}, func() sync.Locker { return new(rudeReaders) })
	believes       = localLock("believes", harness.Traits{ReadWrite: true}, func() sync.Locker { return &sequence{believes: true} }) // readers never restart
)

func localLock(name string, traits harness.Traits, create func() sync.Locker) *harness.Variant {
	return &harness.Variant{Name: name, Doc: "for tests", Paper: "none", Family: harness.Blocking, Traits: traits,
		Local: func(harness.Setup) harness.Local { return harness.Shared(create()) }}
}

func remoteLock(name string, connect func() harness.Remote) *harness.Variant {
	return &harness.Variant{Name: name, Doc: "for tests", Paper: "none", Family: harness.Redis,
		Remote: func(context.Context, harness.Endpoint, string) (harness.Remote, error) { return connect(), nil }}
}

type rudeReaders struct{ sync.Mutex }

func (*rudeReaders) RLock()   {}
func (*rudeReaders) RUnlock() {}

type sequence struct {
	mu       sync.Mutex
	n        atomic.Uint64
	believes bool
}

func (s *sequence) Lock()             { s.mu.Lock(); s.n.Add(1) }
func (s *sequence) Unlock()           { s.n.Add(1); s.mu.Unlock() }
func (s *sequence) ReadBegin() uint64 { return s.n.Load() }
func (s *sequence) ReadRetry(version uint64) bool {
	return !s.believes && (version&1 != 0 || s.n.Load() != version)
}

type nothing struct{}

func (nothing) Lock()   {}
func (nothing) Unlock() {}

// forgetful never grants the lock again after its thousandth acquisition.
type forgetful struct {
	mu sync.Mutex
	n  atomic.Int64
}

func (f *forgetful) Lock() {
	if f.n.Add(1) > 1000 {
		select {}
	}
	f.mu.Lock()
}
func (f *forgetful) Unlock() { f.mu.Unlock() }

// A deafClient is a remote lock that notices neither a release nor the end of a wait.
type deafClient struct{}

func (deafClient) Join(context.Context, int) (harness.Session, error) { return deafClient{}, nil }
func (deafClient) Lock(context.Context) (harness.Lease, error)        { select {} }
func (deafClient) Close() error                                       { return nil }

func TestMain(m *testing.M) {
	Main(append([]*harness.Variant{good, readers, optimist, busted, stuck, hang, unreachable, deaf, crash, single, shared, unshared, exclusive3}, lethalLocks...))
	runTests(m)
}

var instruments = sync.OnceValue(Calibrate)

func workload(workers int) harness.Workload {
	return harness.Workload{Workers: workers, Hold: harness.Span{Mean: 200 * time.Nanosecond},
		Warmup: 5 * time.Millisecond, Window: 60 * time.Millisecond}
}

func openRig(t *testing.T, job Job) *Rig {
	t.Helper()
	rig, err := Open(t.Context(), instruments(), job)
	requireNoError(t, err)
	t.Cleanup(func() { requireNoError(t, rig.Close()) })
	return rig
}

func measureJob(t *testing.T, job Job) *result.Result {
	t.Helper()
	r, err := Measure(t.Context(), instruments(), job)
	requireNoError(t, err)
	return r
}

func requireViolation(t *testing.T, r *result.Result, rule string) {
	t.Helper()
	if !slices.ContainsFunc(r.Violations, func(v oracle.Violation) bool { return v.Rule == rule }) {
		t.Errorf("%s: violations %v, want %s", r.Lock.Name, r.Violations, rule)
	}
}

// measureLocal measures again if a busy machine did not run the workers.
func measureLocal(t *testing.T, v *harness.Variant, w harness.Workload) (res *result.Result) {
	t.Helper()
	for range 5 {
		res = measureJob(t, Job{Lock: v, Workload: w, Seed: 1, Patience: time.Second})
		if res.Ops > 0 || len(res.Violations) > 0 {
			break
		}
	}
	return res
}

func TestLocal(t *testing.T) {
	for _, w := range []harness.Workload{
		workload(1), workload(4),
		{Workers: 3, Think: harness.Span{Mean: time.Microsecond, Exp: true}, Window: 50 * time.Millisecond},
		{Workers: 2, Pin: harness.PinThread, Window: 50 * time.Millisecond},
		{Workers: 2, Pin: harness.PinCPU, Window: 50 * time.Millisecond},
		{Workers: 4, GOMAXPROCS: 1, Window: 50 * time.Millisecond},
	} {
		t.Run(w.Name(), func(t *testing.T) { checkSound(t, measureLocal(t, good, w)) })
	}
}

func TestMixed(t *testing.T) {
	window := 50 * time.Millisecond
	for _, v := range []*harness.Variant{good, readers, optimist} {
		for _, w := range []harness.Workload{
			{Workers: 4, Reads: 50, Window: window}, {Workers: 2, Reads: 100, Window: window},
			{Workers: 4, Locks: 8, Window: window}, {Workers: 3, Locks: 2, Reads: 90, Garbage: true, Window: window},
		} {
			t.Run(v.Name+"/"+w.Name(), func(t *testing.T) {
				r := measureLocal(t, v, w)
				if len(r.Violations) > 0 || r.Ops == 0 || r.Wait.Count() == 0 || r.Hold.N != r.Wait.Count() || r.Handovers > r.Ops || len(r.Owners) > 0 {
					t.Errorf("%d acquisitions, %d handovers, %d waits, %d owners, violations %v",
						r.Ops, r.Handovers, r.Wait.Count(), len(r.Owners), r.Violations)
				}
			})
		}
	}
	for _, v := range []*harness.Variant{busted, forgetsReaders, believes} {
		t.Run(v.Name, func(t *testing.T) {
			w := workload(4)
			w.Reads = 50
			requireViolation(t, measureLocal(t, v, w), "exclusion")
		})
	}
}

func TestGarbage(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	collections := func() uint32 {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.NumGC
	}
	rig, err := Open(t.Context(), instruments(), Job{Lock: good, Workload: harness.Workload{Workers: 1, Garbage: true, Window: 1}})
	requireNoError(t, err)
	for before := collections(); collections() == before; {
		if _, err := rig.Drive(t.Context(), Limit{Window: 20 * time.Millisecond}); err != nil {
			t.Fatal(err)
		}
	}
	requireNoError(t, rig.Close())
	if percent := debug.SetGCPercent(-1); percent != -1 {
		t.Errorf("GOGC is %d after the rig was closed, was off before", percent)
	}
}

func checkSound(t *testing.T, r *result.Result) {
	t.Helper()
	if len(r.Violations) > 0 {
		t.Fatalf("violations %v", r.Violations)
	}
	if r.Ops == 0 || r.Ops != total(r.Workers) || len(r.Workers) != r.Workload.Workers {
		t.Errorf("%d acquisitions, by worker %v", r.Ops, r.Workers)
	}
	if r.Elapsed < r.Workload.Window {
		t.Errorf("the window lasted %v, want at least %v", r.Elapsed, r.Workload.Window)
	}
	if r.Wait.Count() == 0 || r.Hold.N != r.Wait.Count() || !(r.Hold.Mean() > 0) {
		t.Errorf("%d waits and %d holds were sampled", r.Wait.Count(), r.Hold.N)
	}
	if thinks := r.Workload.Think.Mean > 0; thinks != (r.Think.N > 0) || thinks && r.Think.N != r.Wait.Count() {
		t.Errorf("%d thinks were sampled with think %v", r.Think.N, r.Workload.Think)
	}
	if r.Overlap < 0.9 || r.Overlap > 1 {
		t.Errorf("overlap %v", r.Overlap)
	}
	busy := min(r.Noise.CPUs, r.Workload.Workers)
	if r.Workload.GOMAXPROCS > 0 {
		busy = min(busy, r.Workload.GOMAXPROCS)
	}
	if r.Noise.Busy != busy {
		t.Errorf("%d workers can use %d of %d processors, want %d", r.Workload.Workers, r.Noise.Busy, r.Noise.CPUs, busy)
	}
	if r.Handovers > r.Ops || r.Workload.Workers == 1 && r.Handovers > 1 {
		t.Errorf("%d handovers in %d acquisitions by %d workers", r.Handovers, r.Ops, r.Workload.Workers)
	}
	if len(r.Owners) == 0 || r.Burst == 0 || len(r.Owners)%r.Burst != 0 {
		t.Errorf("owner log of %d in bursts of %d", len(r.Owners), r.Burst)
	}
	for _, o := range r.Owners {
		if int(o) >= r.Workload.Workers {
			t.Fatalf("owner log names worker %d", o)
		}
	}
	if r.CPU.Time <= 0 || r.Clock == "" || r.SampleEvery < 1 {
		t.Errorf("cost %+v, clock %q, one sample in %d", r.CPU, r.Clock, r.SampleEvery)
	}
}

func TestOpsLimit(t *testing.T) {
	for _, job := range []Job{
		{Lock: good, Workload: workload(3)},
		{Lock: good, Workload: openWorkload(8, 20_000, 0)},
		{Lock: new(shelf).variant(harness.Traits{}), Workload: openWorkload(8, 20_000, 0)},
	} {
		rig := openRig(t, job)
		for _, n := range []int64{1, 63, 64, 65, 300} {
			r, err := rig.Drive(t.Context(), Limit{Ops: n})
			if err != nil || r.Ops != uint64(n) || len(r.Violations) > 0 {
				t.Errorf("%s: %d acquisitions asked, got %d, %v, %v", job.Lock.Name, n, r.Ops, r.Violations, err)
			}
			if job.Workload.Rate > 0 && (r.Open.Offered != uint64(n) || r.Open.Backlog != 0) {
				t.Errorf("%s: %d acquisitions asked, arrivals %+v", job.Lock.Name, n, r.Open)
			}
		}
	}
}

func TestOpsLimitStuck(t *testing.T) {
	rig := openRig(t, Job{Lock: stuck, Workload: workload(2), Patience: 300 * time.Millisecond})
	res, err := rig.Drive(t.Context(), Limit{Ops: 1 << 20})
	if err != nil || len(res.Violations) == 0 || res.Violations[0].Rule != "liveness" {
		t.Errorf("%v, violations %v", err, res.Violations)
	}
	if _, err := rig.Drive(t.Context(), Limit{Ops: 1}); err == nil {
		t.Error("a rig with stuck workers was driven again")
	}
}

func plan(rounds int, locks ...*harness.Variant) *Plan {
	p := &Plan{Rounds: rounds, Seed: 42, RunID: "test"}
	for _, v := range locks {
		p.Cases = append(p.Cases, Case{Lock: v, Workload: workload(1)})
	}
	return p
}

// runPlan returns the reports of p with a result or a loss.
func runPlan(t testing.TB, p *Plan) (ends []Progress) {
	t.Helper()
	if err := p.Run(t.Context(), func(at Progress) error {
		if at.Result != nil || at.Lost != nil {
			ends = append(ends, at)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return ends
}

// measurePlan returns the reports of p with a result; a loss fails the test.
func measurePlan(t testing.TB, p *Plan) []Progress {
	t.Helper()
	ends := runPlan(t, p)
	for _, at := range ends {
		if at.Lost != nil {
			t.Fatal(at.Lost)
		}
	}
	return ends
}

func TestPlan(t *testing.T) {
	var seen []string
	floors := make(map[float64]bool)
	for _, at := range measurePlan(t, plan(3, good, single)) {
		checkSound(t, at.Result)
		if at.Result.Lock.Name != at.Case.Lock.Name || at.Result.Round != at.Round {
			t.Errorf("asked for %s in round %d, got %s in %d", at.Case.Lock.Name, at.Round, at.Result.Lock.Name, at.Result.Round)
		}
		seen = append(seen, fmt.Sprint(at.Round, at.Case.Lock.Name))
		floors[at.Result.ClockFloor] = true
	}
	slices.Sort(seen)
	if want := []string{"0good", "0single", "1good", "1single", "2good", "2single"}; !slices.Equal(seen, want) {
		t.Errorf("measured %v, want %v", seen, want)
	}
	if len(floors) != 1 {
		t.Errorf("the processes of a run have clocks with the floors %v, want that of their parent", floors)
	}
}

func TestOrder(t *testing.T) {
	p := plan(1, slices.Repeat([]*harness.Variant{good}, 20)...)
	if slices.Equal(p.order(0, len(p.Cases)), p.order(1, len(p.Cases))) {
		t.Error("two rounds have the same order")
	}
	if !slices.Equal(p.order(3, len(p.Cases)), p.order(3, len(p.Cases))) {
		t.Error("one seed gives two orders")
	}
}

func TestPlanRefuses(t *testing.T) {
	many := plan(1, single)
	many.Cases[0].Workload.Workers = 2
	remote := plan(1, &harness.Variant{Name: "far", Traits: harness.Traits{Needs: harness.KindRedis}})
	shared := plan(1, &harness.Variant{Name: "far", Remote: func(context.Context, harness.Endpoint, string) (harness.Remote, error) { return nil, nil }})
	shared.Cases[0].Workload.Locks = 2
	absent := plan(1, &harness.Variant{Name: "absent", Local: good.Local, Unavailable: "made for another machine"})
	deaf := plan(1, good)
	deaf.Cases[0].Workload.Wait = harness.WaitYield
	for name, p := range map[string]*Plan{
		"wait policy that is not followed": deaf, "unavailable": absent, "several remote locks": shared,
		"empty": plan(1), "no rounds": plan(0, good), "twice": plan(1, good, good),
		"too many workers": many, "no server": remote,
		"bad workload": {Rounds: 1, Cases: []Case{{Lock: good, Workload: harness.Workload{Workers: -1}}}},
	} {
		if err := p.Run(t.Context(), func(Progress) error { return nil }); !errors.Is(err, harness.ErrUsage) {
			t.Errorf("%s: %v, want a usage error", name, err)
		}
	}
}
