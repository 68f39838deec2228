package measure

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"locklab/harness"
	"locklab/harness/oracle"
	"locklab/harness/result"
	"locklab/internal/adapt"
)

// A fileLock is a remote lock without a server: flock(2) on a file named by the key.
type fileLock struct {
	path  string
	open  bool // lets every worker in
	picky int  // rejects workers from this number on, if not 0
}

func (l fileLock) variant(name string) *harness.Variant {
	return &harness.Variant{Name: name, Doc: "flock", Paper: "flock(2)", Family: harness.Redis,
		Traits: harness.Traits{Needs: harness.KindRedis},
		Remote: func(_ context.Context, at harness.Endpoint, key string) (harness.Remote, error) {
			own := l
			own.path = filepath.Join(at.Addrs[0][0], key)
			return own, nil
		}}
}

// The locks of the measuring processes in the tests of ranks.
var (
	shared     = fileLock{}.variant("shared")
	unshared   = fileLock{open: true}.variant("unshared")
	exclusive3 = fileLock{picky: 3}.variant("exclusive3")
)

func (l fileLock) Close() error { return nil }

func (l fileLock) Join(_ context.Context, i int) (harness.Session, error) {
	if l.picky > 0 && i >= l.picky {
		return nil, fmt.Errorf("worker %d is not welcome", i)
	}
	f, err := os.OpenFile(l.path, os.O_CREATE|os.O_RDWR, 0o600)
	return &fileSession{f, l.open}, err
}

type fileSession struct {
	f    *os.File
	open bool
}

func (s *fileSession) Close() error { return s.f.Close() }

func (s *fileSession) flock(how int) error {
	for !s.open {
		if err := syscall.Flock(int(s.f.Fd()), how); !errors.Is(err, syscall.EINTR) {
			return err
		}
	}
	return nil
}

func (s *fileSession) Lock(context.Context) (harness.Lease, error) {
	l := adapt.NewLease(context.Background(), time.Time{}, func(context.Context) (bool, error) { return true, s.flock(syscall.LOCK_UN) })
	return l, s.flock(syscall.LOCK_EX)
}

func measureRanks(ctx context.Context, t *testing.T, v *harness.Variant, w harness.Workload) ([]Progress, []error) {
	t.Helper()
	group := groupsOf(t, joinRanks(t, syncOf(commonServer(t).Endpoint()), w.Ranks, func(o *RankOptions, _ *Rank) { o.Job += v.Name }))
	last, errs := make([]Progress, w.Ranks), make([]error, w.Ranks)
	dir := t.TempDir()
	runTogether(w.Ranks, func(rank int) {
		c := Case{Lock: v, Workload: w}
		p := &Plan{Cases: []Case{c}, Rounds: 1, Seed: 1, RunID: "x", Together: group[rank],
			Endpoints: map[Site]harness.Endpoint{c.Site(): {Kind: harness.KindRedis, Addrs: [][]string{{dir}}}}}
		errs[rank] = p.Run(ctx, func(at Progress) error { last[rank] = at; return nil })
	})
	return last, errs
}

func checkPart(t *testing.T, rank int, r *result.Result, w harness.Workload) {
	t.Helper()
	k := r.Ranks[0]
	first, want := w.Share(rank)
	if k.Rank != rank || k.First != first || k.Workers != want || len(r.Workers) != want || k.Ops != r.Ops {
		t.Errorf("rank %d: %+v, acquisitions %v", rank, k, r.Workers)
	}
	if r.Workload != w {
		t.Errorf("rank %d measured %s, want %s", rank, r.Workload.Name(), w.Name())
	}
	if k.Error != 0 || k.Host != fmt.Sprint("host", rank) || k.Late < 0 || k.Closed-k.Opened < int64(w.Window) {
		t.Errorf("rank %d: %+v", rank, k)
	}
}

// TestRanks: ranks measure their parts together; all holds show whether the lock excludes.
func TestRanks(t *testing.T) {
	w := harness.Workload{Workers: 3, Ranks: 2, Hold: harness.Span{Mean: 20 * time.Microsecond}, Think: harness.Span{Mean: 200 * time.Microsecond}, Warmup: 5 * time.Millisecond, Window: 300 * time.Millisecond}
	for _, c := range []struct {
		name    string
		lock    *harness.Variant
		workers int
		rate    harness.Rate
		holds   bool // the lock is exclusive
	}{
		{"closed", shared, 3, 0, true},
		{"open", shared, 3, 400, true},
		{"broken", unshared, 2, 0, false}, // but each rank alone sees nothing
	} {
		t.Run(c.name, func(t *testing.T) {
			w := w
			if w.Workers, w.Rate = c.workers, c.rate; c.rate > 0 {
				w.Think = harness.Span{}
			}
			last, errs := measureRanks(t.Context(), t, c.lock, w)
			var holds []harness.Hold
			from, to := int64(0), int64(1<<62)
			for rank, at := range last {
				r := at.Result
				if errs[rank] != nil || r == nil || len(r.Ranks) != 1 {
					t.Fatalf("rank %d: %+v, %v", rank, at, errs[rank])
				}
				k := r.Ranks[0]
				checkPart(t, rank, r, w)
				for _, h := range r.Holds {
					holds = append(holds, harness.Hold{Worker: h.Worker + k.First, Acquired: h.Acquired + k.Zero, Releasing: h.Releasing + k.Zero})
				}
				from, to = max(from, k.Opened), min(to, k.Closed)
			}
			if from >= to {
				t.Errorf("the windows have no time in common: %+v, %+v", last[0].Result.Ranks, last[1].Result.Ranks)
			}
			if oracle.Sort(holds); len(holds) == 0 {
				t.Error("no holds")
			}
			if n := len(oracle.Overlaps(holds, 1)); (n == 0) != c.holds {
				t.Errorf("over both ranks %d violations of %d holds", n, len(holds))
			}
		})
	}
}

// TestRanksFail: if one rank cannot measure, none waits, and each names it.
func TestRanksFail(t *testing.T) {
	w := harness.Workload{Workers: 4, Ranks: 2, Window: 50 * time.Millisecond}
	last, errs := measureRanks(t.Context(), t, exclusive3, w)
	for rank, at := range last {
		if at.Result != nil || at.Lost == nil || !strings.Contains(at.Lost.Error(), "not welcome") || errs[rank] != nil {
			t.Errorf("rank %d: result %v, lost %v, %v", rank, at.Result, at.Lost, errs[rank])
		}
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("rank 1 is gone"))
	_, errs = measureRanks(ctx, t, shared, w)
	for rank, err := range errs {
		if err == nil || !strings.Contains(err.Error(), "rank 1 is gone") {
			t.Errorf("rank %d: %v", rank, err)
		}
	}
}

// TestRanksBroken: a violation before the window is its rank's result; the other has none.
func TestRanksBroken(t *testing.T) {
	w := harness.Workload{Workers: 3, Ranks: 2, Hold: harness.Span{Mean: 5 * time.Millisecond}, Warmup: 100 * time.Millisecond, Window: 50 * time.Millisecond}
	last, errs := measureRanks(t.Context(), t, unshared, w)
	if r := last[0].Result; errs[0] != nil || r == nil || len(r.Violations) == 0 || r.Ranks[0].Workers != 2 || r.Ranks[0].Opened != 0 {
		t.Errorf("rank 0: %+v, %v", last[0], errs[0])
	}
	if errs[1] != nil || last[1].Lost == nil || !strings.Contains(last[1].Lost.Error(), "rank 0 (host host0, pid ") || !strings.Contains(last[1].Lost.Error(), "its process ended before the window") {
		t.Errorf("rank 1: %+v, %v", last[1], errs[1])
	}
}

func TestRanksLocal(t *testing.T) {
	w := workload(2)
	w.Ranks = 2
	p := &Plan{Cases: []Case{{Lock: good, Workload: w}}, Rounds: 1}
	if err := p.Validate(); !errors.Is(err, harness.ErrUsage) || !strings.Contains(err.Error(), "lives in one process") {
		t.Errorf("%v", err)
	}
	alone := Case{Lock: shared, Workload: workload(2)}
	p = &Plan{Cases: []Case{alone}, Rounds: 1, Together: new(Ranks), Endpoints: map[Site]harness.Endpoint{alone.Site(): {}}}
	if err := p.Validate(); !errors.Is(err, harness.ErrUsage) || !strings.Contains(err.Error(), "not shared by ranks") {
		t.Errorf("%v", err)
	}
}
