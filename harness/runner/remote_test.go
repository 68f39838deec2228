package runner

import (
	"context"
	"errors"
	"math"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"locklab/harness"
)

// A shelf is a remote lock without a server: a channel of one that all its
// clients share. Its flags break one promise each.
type shelf struct {
	free             chan struct{}
	token            atomic.Uint64
	open, stale, bad bool // lets everybody in; repeats its token; fails now and then
	forgets          bool // loses the lock at the thirtieth release
	requests         atomic.Uint64
}

func (s *shelf) variant(traits harness.Traits) *harness.Variant {
	s.free = make(chan struct{}, 1)
	s.free <- struct{}{}
	traits.Needs = harness.KindRedis
	return &harness.Variant{Name: "shelf", Doc: "a channel", Paper: "none", Family: harness.Redis,
		Status: harness.Reference, Traits: traits,
		Remote: func(context.Context, harness.Endpoint, string) (harness.Remote, error) { return s, nil }}
}

func (s *shelf) Join(context.Context, int) (harness.Session, error) { return s, nil }
func (s *shelf) Close() error                                       { return nil }
func (s *shelf) Counts() harness.Counts                             { return harness.Counts{Requests: s.requests.Load()} }

func (s *shelf) Lock(ctx context.Context) (harness.Lease, error) {
	n := s.requests.Add(1)
	if s.bad && n > 50 {
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
	return &shelfLease{s, token}, nil
}

type shelfLease struct {
	s     *shelf
	token uint64
}

func (l *shelfLease) Unlock(context.Context) error {
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

func measureRemote(t *testing.T, s *shelf, traits harness.Traits) *harness.Result {
	t.Helper()
	w := harness.Workload{Workers: 4, Clients: 2, Hold: harness.Span{Mean: 100 * time.Microsecond}, Think: harness.Span{Mean: 20 * time.Microsecond},
		Warmup: time.Millisecond, Window: 80 * time.Millisecond}
	res, err := Measure(t.Context(), instruments(), Job{Lock: s.variant(traits), Workload: w, Patience: 300 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	return res
}

func TestRemote(t *testing.T) {
	r := measureRemote(t, new(shelf), harness.Traits{Fenced: true})
	checkSound(t, r)
	if r.Wire == nil {
		t.Fatal("no traffic was counted")
	}
	// Two requests a turn, two clients that count the same shelf. The turn of
	// each worker that an edge of the window cuts may count half.
	cut := float64(4 * r.Workload.Workers)
	if got, want := float64(r.Wire.Requests), 4*float64(r.Ops); math.Abs(got-want) > 0.05*want+cut {
		t.Errorf("%v requests for %d acquisitions, want 4 each", got, r.Ops)
	}
	if r.Handover.Count() == 0 {
		t.Error("no hand-over was timed")
	}
}

func TestRemoteViolations(t *testing.T) {
	for _, c := range []struct {
		name, rule string
		shelf      *shelf
		traits     harness.Traits
	}{
		{"lets everybody in", "exclusion", &shelf{open: true}, harness.Traits{}},
		{"repeats its token", "fencing", &shelf{stale: true}, harness.Traits{Fenced: true}},
		{"fails", "error", &shelf{bad: true}, harness.Traits{}},
		{"loses the lock", "liveness", &shelf{forgets: true}, harness.Traits{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := measureRemote(t, c.shelf, c.traits)
			if !slices.ContainsFunc(r.Violations, func(v harness.Violation) bool { return v.Rule == c.rule }) {
				t.Errorf("violations %v, want %s", r.Violations, c.rule)
			}
		})
	}
}

// TestUnclaimedFence shows that tokens are judged only where a lock claims them.
func TestUnclaimedFence(t *testing.T) {
	if r := measureRemote(t, &shelf{stale: true}, harness.Traits{}); len(r.Violations) > 0 {
		t.Errorf("violations %v", r.Violations)
	}
}
