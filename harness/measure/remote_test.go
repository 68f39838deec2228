package measure

import (
	"context"
	"errors"
	"math"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"locklab/harness"
	"locklab/harness/result"
)

// A shelf is a remote lock without a server: a channel with one element per permit, shared
// by all clients. Each flag violates one promise.
type shelf struct {
	free             chan struct{}
	seats            int // more than the claimed permits
	token            atomic.Uint64
	open, stale, bad bool // lets every worker in; repeats its token; fails now and then
	forgets          bool // loses the lock at the thirtieth release
	inside, most     atomic.Int64
	requests         atomic.Uint64

	session func() harness.Session // if not nil, makes the session of each worker
}

func (s *shelf) variant(traits harness.Traits) *harness.Variant {
	s.free = make(chan struct{}, max(1, traits.Permits)+s.seats)
	for range cap(s.free) {
		s.free <- struct{}{}
	}
	traits.Needs = harness.KindRedis
	return &harness.Variant{Name: "shelf", Doc: "a channel", Paper: "none", Family: harness.Redis,
		Traits: traits,
		Remote: func(context.Context, harness.Endpoint, string) (harness.Remote, error) { return s, nil }}
}

func (s *shelf) Join(context.Context, int) (harness.Session, error) {
	if s.session != nil {
		return s.session(), nil
	}
	return s, nil
}

func (s *shelf) Close() error           { return nil }
func (s *shelf) Counts() harness.Counts { return harness.Counts{Requests: s.requests.Load()} }

func (s *shelf) Lock(ctx context.Context) (harness.Lease, error) {
	n := s.requests.Add(1)
	if s.bad && n > 5 {
		return nil, errors.New("shelf: out of order")
	}
	if !s.open {
		select {
		case <-s.free:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	token := s.token.Add(1)
	if s.stale {
		token = 1
	}
	for k, most := s.inside.Add(1), s.most.Load(); k > most && !s.most.CompareAndSwap(most, k); most = s.most.Load() {
	}
	return &shelfLease{s, token}, nil
}

type shelfLease struct {
	s     *shelf
	token uint64
}

func (l *shelfLease) Unlock(context.Context) error {
	l.s.inside.Add(-1)
	if n := l.s.requests.Add(1); l.s.forgets && n > 60 {
		return nil
	}
	if !l.s.open {
		l.s.free <- struct{}{}
	}
	return nil
}
func (l *shelfLease) Token() uint64               { return l.token }
func (l *shelfLease) Done() <-chan struct{}       { return nil }
func (l *shelfLease) Err() error                  { return nil }
func (l *shelfLease) Deadline() (time.Time, bool) { return time.Time{}, false }

func measureRemote(t *testing.T, s *shelf, traits harness.Traits) *result.Result {
	t.Helper()
	w := harness.Workload{Workers: 4, Clients: 2, Hold: harness.Span{Mean: 100 * time.Microsecond}, Think: harness.Span{Mean: 20 * time.Microsecond},
		Warmup: time.Millisecond, Window: 80 * time.Millisecond}
	return measureJob(t, Job{Lock: s.variant(traits), Workload: w, Patience: 300 * time.Millisecond})
}

func TestRemote(t *testing.T) {
	r := measureRemote(t, new(shelf), harness.Traits{Fenced: true})
	checkSound(t, r)
	if r.Wire == nil {
		t.Fatal("no traffic was counted")
	}
	// Two requests per acquisition, and two clients that count the same shelf. The
	// acquisition of each worker that an edge of the window cuts may count half.
	cut := float64(4 * r.Workload.Workers)
	if got, want := float64(r.Wire.Requests), 4*float64(r.Ops); math.Abs(got-want) > 0.05*want+cut {
		t.Errorf("%v requests for %d acquisitions, want 4 each", got, r.Ops)
	}
	if r.Handover.Count() == 0 {
		t.Error("no handover was timed")
	}
}

func TestRemoteViolations(t *testing.T) {
	for _, c := range []struct {
		name, rule string
		shelf      *shelf
		traits     harness.Traits
	}{
		{"lets every worker in", "exclusion", &shelf{open: true}, harness.Traits{}},
		{"repeats its token", "fencing", &shelf{stale: true}, harness.Traits{Fenced: true}},
		{"fails", "error", &shelf{bad: true}, harness.Traits{}},
		{"loses the lock", "liveness", &shelf{forgets: true}, harness.Traits{}},
		{"has one permit more", "exclusion", &shelf{seats: 1}, harness.Traits{Permits: 2}},
		{"claims no tokens", "", &shelf{stale: true}, harness.Traits{}},
		{"fails to release", "error", &shelf{session: newFailing}, harness.Traits{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := measureRemote(t, c.shelf, c.traits)
			if c.rule != "" {
				requireViolation(t, r, c.rule)
			} else if len(r.Violations) > 0 {
				t.Errorf("violations %v", r.Violations)
			}
		})
	}
}

func TestPermits(t *testing.T) {
	s := new(shelf)
	r := measureRemote(t, s, harness.Traits{Permits: 2, Fenced: true})
	if len(r.Violations) > 0 || r.Ops == 0 || len(r.Owners) == 0 || r.Handover.Count() != 0 {
		t.Errorf("%d acquisitions, %d owners, %d handovers timed, violations %v", r.Ops, len(r.Owners), r.Handover.Count(), r.Violations)
	}
	if got := s.most.Load(); got != 2 {
		t.Errorf("%d workers were inside together, want 2", got)
	}
}

// A library is a shelf with readers: the first takes it for all, the last puts it back.
type library struct {
	shelf
	mu      sync.Mutex
	readers int
	most    int
	rude    bool // readers do not wait for writers
	lags    bool // tokens of readers fall behind
}

func (l *library) RLock(ctx context.Context) (harness.Lease, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.readers == 0 && !l.rude {
		select {
		case <-l.free:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	l.readers++
	l.most = max(l.most, l.readers)
	token := l.token.Load()
	if l.lags {
		token = 0
	}
	return &loan{l, shelfLease{&l.shelf, token}}, nil
}

type loan struct {
	l *library
	shelfLease
}

func (b *loan) Unlock(context.Context) error {
	b.l.mu.Lock()
	defer b.l.mu.Unlock()
	if b.l.readers--; b.l.readers == 0 && !b.l.rude {
		b.l.free <- struct{}{}
	}
	return nil
}

func measureReads(t *testing.T, l *library, percent int) *result.Result {
	t.Helper()
	l.session = func() harness.Session { return l }
	v := l.variant(harness.Traits{ReadWrite: true, Fenced: true})
	w := harness.Workload{Workers: 4, Reads: percent, Hold: harness.Span{Mean: 100 * time.Microsecond}, Warmup: time.Millisecond, Window: 80 * time.Millisecond}
	return measureJob(t, Job{Lock: v, Workload: w, Patience: 300 * time.Millisecond})
}

func TestRemoteReads(t *testing.T) {
	for percent, share := range map[int]bool{0: false, 50: true, 90: true, 100: true} {
		l := new(library)
		r := measureReads(t, l, percent)
		if len(r.Violations) > 0 || r.Ops == 0 || r.Wait.Count() == 0 || r.Handovers > r.Ops {
			t.Errorf("%d %% reads: %d acquisitions, violations %v", percent, r.Ops, r.Violations)
		}
		if percent == 100 && r.Handovers > 0 {
			t.Errorf("%d handovers among writers, of which there are none", r.Handovers)
		}
		if (len(r.Owners) == 0) != share {
			t.Errorf("%d %% reads: %d owners are logged", percent, len(r.Owners))
		}
		if (l.most > 1) != share {
			t.Errorf("%d %% reads: at most %d readers were inside together", percent, l.most)
		}
	}
	for _, c := range []struct {
		name, rule string
		lock       *library
	}{{"rude readers", "exclusion", &library{rude: true}}, {"lagging tokens", "fencing", &library{lags: true}}} {
		requireViolation(t, measureReads(t, c.lock, 50), c.rule)
	}
}

func TestReadsOfAMutex(t *testing.T) {
	s := new(shelf)
	w := harness.Workload{Workers: 3, Reads: 50, Hold: harness.Span{Mean: 50 * time.Microsecond}, Window: 50 * time.Millisecond}
	r, err := Measure(t.Context(), instruments(), Job{Lock: s.variant(harness.Traits{Fenced: true}), Workload: w})
	if err != nil || len(r.Violations) > 0 || r.Ops == 0 || s.most.Load() != 1 {
		t.Errorf("%v; %d acquisitions, at most %d inside, violations %v", err, r.Ops, s.most.Load(), r.Violations)
	}
}

func TestRemoteCriticalSection(t *testing.T) {
	s := &remoteCriticalSection{alone: true}
	nothing := func() {}
	if _, whole := s.write(1, nothing); !whole || !s.read(nothing) {
		t.Error("a critical section without a worker in it is not whole")
	}
	var reader, writer bool
	s.write(1, func() {
		reader = s.read(nothing)
		_, writer = s.write(2, nothing)
	})
	if reader || writer {
		t.Errorf("inside together with a writer, a reader finds the critical section whole: %v, a writer: %v", reader, writer)
	}
	if s.read(func() { s.write(1, nothing) }) {
		t.Error("a reader does not see that a writer came and went")
	}
	if got := s.right.Load(); got != 3 {
		t.Errorf("the counter is %d after four writes of which two overlapped, want 3", got)
	}
}

type tardy struct {
	shelfLease
	done       chan struct{}
	says, ends error
	after      time.Duration // until it ends; negative is never
}

func (l *tardy) Unlock(context.Context) error {
	if l.after >= 0 {
		time.AfterFunc(l.after, func() { close(l.done) })
	}
	return l.says
}

func (l *tardy) Err() error {
	select {
	case <-l.done:
		return l.ends
	default:
		return nil
	}
}

func (l *tardy) Done() <-chan struct{} { return l.done }

// TestRelease: a late release is no error, but a lost lock or one without an end is.
func TestRelease(t *testing.T) {
	unanswered := errors.New("no answer yet")
	for _, test := range []struct {
		name     string
		lease    *tardy
		patience time.Duration
		want     error
	}{
		{"released at once", &tardy{after: 0, ends: harness.ErrReleased}, time.Minute, nil},
		{"released later", &tardy{says: unanswered, after: 30 * time.Millisecond, ends: harness.ErrReleased}, time.Minute, nil},
		{"lost later", &tardy{says: unanswered, after: 30 * time.Millisecond, ends: harness.ErrLost}, time.Minute, unanswered},
		{"never ends", &tardy{says: unanswered, after: -1}, 50 * time.Millisecond, unanswered},
		{"not held", &tardy{says: harness.ErrNotHeld, after: -1}, time.Hour, harness.ErrNotHeld},
	} {
		test.lease.done = make(chan struct{})
		if err := release(t.Context(), test.lease, test.patience); !errors.Is(err, test.want) || err != nil && test.want == nil {
			t.Errorf("%s: %v, want %v", test.name, err, test.want)
		}
	}
	if err := release(t.Context(), &tardy{says: errEndless, after: -1}, time.Hour); !errors.Is(err, errEndless) {
		t.Errorf("a lease that never says how it ends: %v", err)
	}
}

var errEndless = errors.New("no answer ever")

func newFailing() harness.Session { return failing{new(shelf)} }

type failing struct{ *shelf }

func (f failing) Lock(context.Context) (harness.Lease, error) {
	return &tardy{done: make(chan struct{}), says: errEndless, after: -1}, nil
}

func rationCPU(share float64) (served func(time.Duration) time.Duration, reads *atomic.Int64) {
	var sum time.Duration
	reads = new(atomic.Int64)
	return func(step time.Duration) time.Duration {
		reads.Add(1)
		sum += time.Duration(share * float64(step))
		return sum
	}, reads
}

// TestStuckOnBusyMachine: the patience counts only time in which workers could progress.
func TestStuckOnBusyMachine(t *testing.T) {
	const patience = 40 * time.Millisecond
	for _, share := range []float64{1, 0.25} {
		served, reads := rationCPU(share)
		job := Job{Lock: deaf, Workload: workload(2), Patience: patience, served: served}
		r, err := Measure(t.Context(), instruments(), job)
		if err != nil || len(r.Violations) != 1 || r.Violations[0].Rule != "liveness" {
			t.Fatalf("%v, %+v", err, r)
		}
		if n, least := float64(reads.Load()), 20/share; n < least || n > 3*least+3 {
			t.Errorf("with %v of a processor read %v times, want about %v: %s", share, n, least, r.Violations[0].Detail)
		}
	}
}
