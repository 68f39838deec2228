package chaos_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"locklab/cmd/locklab/catalog"
	"locklab/harness"
	"locklab/harness/chaos"
	"locklab/internal/backend"
	"locklab/internal/leaktest"
)

var row = flag.Int("row", 0, "how many scenarios TestRow makes in a row")

var rowScenarios = []string{
	"acquire-reply-lost", "readers-together", "holder-crash", "failed-try", "redis-wait-cut",
	"release-reply-lost", "kept-error", "redis-promotion-cut", "two-of-a-client", "redis-restart-empty",
}

var rowLocks = []string{"redis-queue", "redis-rw", "redis-poll-5ms", "zk-handoff", "zk-rw"}

// rowParallel is the number of concurrent scenarios: they mostly sleep.
const rowParallel = 4

// TestRow checks that a sequence of scenarios leaves nothing: no process, open file or
// port, temporary directory, goroutine, key without expiry or ephemeral node. For
// hundreds:
//
//	go test ./harness/chaos -run TestRow -v -row 300 -timeout 40m
func TestRow(t *testing.T) {
	if *row == 0 {
		t.Skip("no -row; TestNothingLeft makes a few")
	}
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	r := new(remains)
	r.make(t, rowScenarios[:1]) // the first try leaves permanent resources
	files, was := opened(t), directories(t, temp)
	leaktest.All(t)
	for made := 0; made < *row; {
		var names []string
		for i := range min(*row-made, 5*len(rowScenarios)) {
			names = append(names, rowScenarios[(made+i)%len(rowScenarios)])
		}
		began := time.Now()
		r.make(t, names)
		made += len(names)
		now := directories(t, temp)
		t.Logf("%d scenarios, the last %d in %v: %d tries, a look behind each among them, and %d that could not be made; open files and processes %d, before %d; temporary %q; keys without an end %d, with one %d, nodes %d",
			made, len(names), time.Since(began).Round(time.Second), r.tries.Load(), r.failed.Load(), opened(t), files, now, r.endless.Load(), r.ending.Load(), r.nodes.Load())
		if n := opened(t); n > files || len(now) > len(was) {
			t.Errorf("%d open files and child processes after %d scenarios, %d before; in the temporary directory %q", n, made, files, now)
		}
	}
	if r.endless.Load()+r.nodes.Load() > 0 {
		t.Errorf("left behind: %d keys without an end, %d nodes", r.endless.Load(), r.nodes.Load())
	}
	if r.failed.Load() > int64(*row/10) {
		t.Errorf("%d faults could not be made", r.failed.Load())
	}
}

type remains struct {
	tries, failed          atomic.Int64
	endless, ending, nodes atomic.Int64
}

func (r *remains) make(t *testing.T, names []string) {
	t.Helper()
	p := &chaos.Plan{Tries: 2, Parallel: rowParallel, Seed: uint64(len(names))}
	for _, v := range catalog.All() {
		if slices.Contains(rowLocks, v.Name) && (v.Unavailable == "" || backend.Required(v.Traits.Needs)) {
			p.Locks = append(p.Locks, v)
		}
	}
	for _, name := range names {
		i := slices.IndexFunc(chaos.Suite, func(s *chaos.Scenario) bool { return s.Name == name })
		if i < 0 {
			t.Fatalf("no scenario is called %q", name)
		}
		p.Scenarios = append(p.Scenarios, r.count(chaos.Suite[i]))
	}
	err := p.Run(t.Context(), func(f *harness.FaultResult) error {
		r.tries.Add(int64(f.Tries))
		r.failed.Add(int64(f.Failed))
		if f.Skipped != "" {
			t.Logf("%s: %s: %s", f.Scenario, f.Lock.Name, f.Skipped)
			if backend.Required(f.Lock.Traits.Needs) {
				return errors.New(f.Skipped)
			}
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// count returns a copy of s whose second try counts the leftovers of the first after
// leases and sessions have ended.
func (r *remains) count(s *chaos.Scenario) *chaos.Scenario {
	counted := *s
	counted.Try = func(ctx context.Context, t *chaos.Try) {
		if t.Number == 0 {
			s.Try(ctx, t)
			return
		}
		if strings.HasPrefix(s.Name, "redis-") { // its servers are gone
			return
		}
		t.Sleep(ctx, 2*chaos.SessionTimeout)
		t.Each(func(x *chaos.Subject) {
			at := chaos.Must(t.At(ctx, x.Variant))
			left := &chaos.Subject{Key: strings.TrimSuffix(x.Key, fmt.Sprint(t.Number)) + "0"}
			names := chaos.Must(left.Left(ctx, t, at))
			for _, name := range names {
				switch {
				case at.Kind == harness.KindZooKeeper:
					r.nodes.Add(1)
				case t.Redis(at.Addrs[0][0]).TTL(ctx, name).Val() < 0:
					r.endless.Add(1)
				default:
					r.ending.Add(1)
				}
			}
		})
	}
	return &counted
}

func directories(t *testing.T, dir string) (names []string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}
