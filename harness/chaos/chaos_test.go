package chaos_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"locklab/harness"
	"locklab/harness/chaos"
	"locklab/harness/oracle"
	"locklab/harness/result"
)

// tryScenario runs scenario s on the specimens called names and returns their results.
func tryScenario(t *testing.T, s chaos.Scenario, p chaos.Plan, names ...string) map[string]*result.FaultResult {
	t.Helper()
	s.Locks = ".*"
	if s.Expect == nil {
		s.Expect = []chaos.Expectation{{Locks: ".*", Why: "it is broken on purpose"}}
	}
	s.NoFault = s.Fault == ""
	p.Scenarios, p.Tries = []*chaos.Scenario{&s}, max(1, p.Tries)
	for _, v := range specimens {
		if slices.Contains(names, v.Name) {
			p.Locks = append(p.Locks, v)
		}
	}
	return sumResults(t, &p)
}

// sumResults runs p and returns the sum of the results of each lock.
func sumResults(t *testing.T, p *chaos.Plan) map[string]*result.FaultResult {
	t.Helper()
	sum := make(map[string]*result.FaultResult)
	if err := p.Run(t.Context(), func(r *result.FaultResult) error {
		if old := sum[r.Lock.Name]; old != nil {
			old.Add(r)
		} else {
			sum[r.Lock.Name] = r
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return sum
}

func countEvents(s *chaos.Subject, kind oracle.EventKind) (n int) {
	for _, e := range s.Events() {
		if e.Kind == kind {
			n++
		}
	}
	return n
}

func runLoops(ctx context.Context, t *chaos.Try, l chaos.Loop) {
	hosts := t.Hosts(2)
	t.Each(func(s *chaos.Subject) {
		for _, h := range hosts {
			h.Open(ctx, s, harness.Endpoint{}).Loop(ctx, l)
		}
	})
	t.Sleep(ctx, 300*time.Millisecond)
}

// TestSeen: the anomalies of a lock without exclusion are reported and its history is kept.
func TestSeen(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	r := tryScenario(t, chaos.Scenario{
		Name: "together", Deadline: 10 * time.Second,
		Try: func(ctx context.Context, t *chaos.Try) {
			runLoops(ctx, t, chaos.Loop{Hold: 20 * time.Millisecond})
		},
	}, chaos.Plan{Dir: dir}, "free")["free"]
	if r.Tries != 1 || r.Seen[oracle.TwoHolders] != 1 || r.Seen[oracle.StaleWrite] != 1 || len(r.Overlap) != 1 {
		t.Errorf("of a lock that excludes nothing: %+v", r)
	}
	if least, most := r.Hurt([]oracle.Anomaly{oracle.TwoHolders, oracle.StaleWrite}); least != 1 || most != 1 {
		t.Errorf("%d to %d tries with any of both, want 1: %+v", least, most, r.Together)
	}
	if len(r.Histories) != 1 {
		t.Fatalf("histories %q, want one", r.Histories)
	}
	f, err := os.Open(filepath.Join(dir, r.Histories[0]))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	h, err := oracle.ReadHistory(f)
	if err != nil || len(oracle.Judge(h, oracle.Rules{}).Overlaps) == 0 {
		t.Errorf("the history that was kept shows no overlap (%v)", err)
	}
}

// TestTokenFell: a token that fell is one anomaly; the search adds no other.
func TestTokenFell(t *testing.T) {
	t.Parallel()
	s := chaos.Scenario{Name: "scripted", Deadline: time.Minute, Try: func(_ context.Context, t *chaos.Try) {
		at := t.Now() - int64(time.Second)
		for i, token := range []uint64{1, 2, 2, 3} {
			for _, kind := range []oracle.EventKind{oracle.Asked, oracle.Granted, oracle.Releasing, oracle.Released} {
				at += int64(time.Microsecond)
				chaos.Record(t.Subjects[0], oracle.Event{At: at, Worker: i % 2, Kind: kind, Token: token})
			}
		}
	}}
	r := tryScenario(t, s, chaos.Plan{}, "fenced")["fenced"]
	if want := map[oracle.Anomaly]int{oracle.TokenFell: 1}; !maps.Equal(r.Seen, want) {
		t.Errorf("seen %v, want %v: %q", r.Seen, want, r.Notes)
	}
}

// TestLongestFirst: of scenarios that run at the same time the longest begin first.
func TestLongestFirst(t *testing.T) {
	t.Parallel()
	var scenarios []*chaos.Scenario
	var longest sync.WaitGroup
	longest.Add(2)
	for _, takes := range []int{1, 3, 2} {
		scenarios = append(scenarios, &chaos.Scenario{Name: strconv.Itoa(takes), Locks: ".*", Takes: takes, Deadline: time.Minute,
			Try: func(context.Context, *chaos.Try) {
				if takes > 1 {
					longest.Done()
					longest.Wait() // both have begun
				}
			}})
	}
	var begun []string
	sumResults(t, &chaos.Plan{Scenarios: scenarios, Locks: specimens[:1], Tries: 1, Parallel: 2, Begin: func(p chaos.Progress) {
		begun = append(begun, p.Scenario.Name)
	}})
	if len(begun) != 3 || begun[2] != "1" {
		t.Errorf("begun in the order %q, want the shortest last", begun)
	}
}

// TestDeadline: a lock that is stuck when the try ends is harmed, and a try without its fault
// does not count.
func TestDeadline(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		tries int
		do    func(ctx context.Context, t *chaos.Try, w *chaos.Worker)
	}{
		"loop": {1, func(ctx context.Context, t *chaos.Try, w *chaos.Worker) {
			w.Loop(ctx, chaos.Loop{})
			<-ctx.Done()
			chaos.Settle(ctx, t, harness.Endpoint{Addrs: [][]string{{"127.0.0.1:1"}}})
		}},
		"step":            {1, func(ctx context.Context, _ *chaos.Try, w *chaos.Worker) { chaos.Check(w.Acquire(ctx, 0)) }},
		"deadline before": {0, nil},
		"end before":      {0, func(context.Context, *chaos.Try, *chaos.Worker) {}},
	} {
		const deadline = 3 * time.Second // a busy machine needs that long to start a process
		r := tryScenario(t, chaos.Scenario{
			Name: "wait", Fault: "a fault", Deadline: deadline, Prompt: deadline / 4,
			Try: func(ctx context.Context, t *chaos.Try) {
				t.Until(ctx, "a fault", func() bool { return c.do != nil })
				w := t.Host().Open(ctx, t.Subjects[0], harness.Endpoint{})
				if c.tries > 0 {
					t.Fault("a fault")
				}
				t.Each(func(*chaos.Subject) { c.do(ctx, t, w) })
			},
		}, chaos.Plan{}, "hang")["hang"]
		if r.Tries != c.tries || r.Failed != 1-c.tries || r.Seen[oracle.Stuck] != c.tries || r.Seen[oracle.LeftBehind] > 0 {
			t.Errorf("%s: %+v", name, r)
		}
	}
}

// TestFaultNotMade: a try with a crashed worker process counts for no lock in it.
func TestFaultNotMade(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		want string
		made int
		do   func(ctx context.Context, t *chaos.Try)
	}{
		{"panic: the specimen crashes", 3, func(ctx context.Context, t *chaos.Try) { runLoops(ctx, t, chaos.Loop{Hold: 20 * time.Millisecond}) }},
		{"not installed", 1, func(context.Context, *chaos.Try) {
			chaos.Check(fmt.Errorf("%w: not installed", harness.ErrUnavailable))
		}},
	} {
		made := 0
		results := tryScenario(t, chaos.Scenario{Name: "not-made", Deadline: 10 * time.Second, Try: func(ctx context.Context, t *chaos.Try) {
			made++
			c.do(ctx, t)
		}}, chaos.Plan{Tries: 10}, "crash", "free")
		for name, r := range results {
			if r.Tries != 0 || !strings.Contains(r.Skipped, c.want) || made != c.made {
				t.Errorf("%s: %d tries, want %d with %q: %+v", name, made, c.made, c.want, r)
			}
		}
	}
}

func TestInterrupted(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var seeds []uint64
	s := &chaos.Scenario{Name: "count", Locks: ".*", NoFault: true, Deadline: time.Minute, Try: func(ctx context.Context, t *chaos.Try) {
		seeds = append(seeds, t.Seed)
		if len(seeds) == 3 {
			cancel()
			<-ctx.Done()
		}
	}}
	tries := 0
	later := &chaos.Scenario{Name: "later", Locks: ".*", Deadline: time.Minute, Try: func(context.Context, *chaos.Try) {}}
	p := chaos.Plan{Scenarios: []*chaos.Scenario{s, later}, Locks: specimens[:1], Tries: 5, Seed: 7}
	for range 20 {
		p.Scenarios = append(p.Scenarios, later)
	}
	begun := 0
	p.Begin = func(chaos.Progress) { begun++ }
	keep := func(r *result.FaultResult) error { tries += r.Tries; return nil }
	if err := p.Run(ctx, keep); !errors.Is(err, context.Canceled) {
		t.Errorf("Run = %v", err)
	}
	if tries != 2 || begun != 3 {
		t.Errorf("%d tries kept and %d begun of a run that was interrupted in the third", tries, begun)
	}
	p.Done, p.Scenarios = func(string, string) (int, int) { return tries, tries }, p.Scenarios[:1]
	third := seeds[2]
	seeds = make([]uint64, 3, 8) // so that no later try is the third
	if err := p.Run(t.Context(), keep); err != nil || tries != 5 {
		t.Errorf("Run = %v; %d tries after it went on, want 5", err, tries)
	}
	if seeds[3] != third {
		t.Error("the third try has another seed the next time")
	}
}

func TestBudget(t *testing.T) {
	t.Parallel()
	tries := make(map[string]int)
	one := func(name string) *chaos.Scenario {
		return &chaos.Scenario{Name: name, Locks: ".*", Deadline: time.Minute, Try: func(context.Context, *chaos.Try) {
			tries[name]++
			time.Sleep(2 * time.Millisecond)
		}}
	}
	p := chaos.Plan{Scenarios: []*chaos.Scenario{one("a"), one("b")}, Locks: specimens[:1], Tries: 1000, Budget: time.Millisecond}
	if err := p.Run(t.Context(), func(*result.FaultResult) error { return nil }); err != nil {
		t.Fatal(err)
	}
	if tries["a"] != 1 || tries["b"] != 1 {
		t.Errorf("tries %v, want one of each", tries)
	}
}

func TestPause(t *testing.T) {
	t.Parallel()
	r := tryScenario(t, chaos.Scenario{
		Name: "pause", Deadline: 20 * time.Second,
		Try: func(ctx context.Context, t *chaos.Try) {
			h := t.Host()
			s := t.Subjects[0]
			h.Open(ctx, s, harness.Endpoint{}).Loop(ctx, chaos.Loop{Hold: time.Millisecond})
			t.Until(ctx, "a grant", func() bool { return s.AwaitGrant(ctx, time.Second, 0) })
			h.Pause()
			t.Sleep(ctx, 50*time.Millisecond) // messages in transit arrive
			n := len(s.Events())
			t.Sleep(ctx, 2*time.Second)
			if more := len(s.Events()) - n; more > 0 {
				s.Show(oracle.Misled, "%d events of a paused process", more)
			}
			h.Resume()
			if !s.AwaitGrant(ctx, 10*time.Second, t.Now()) {
				s.Show(oracle.Misled, "nothing after it was resumed")
			}
			for _, d := range chaos.Delays(t) {
				if strings.HasPrefix(d.Process, "worker") && d.To-d.From > int64(time.Second) {
					s.Show(oracle.Misled, "the pause counts as a delay by the machine: %v", d)
				}
			}
		},
	}, chaos.Plan{}, "free")["free"]
	if r.Tries != 1 || len(r.Seen) != 0 {
		t.Errorf("%+v", r)
	}
}

func TestNothingLeft(t *testing.T) {
	tries := 3
	if n, err := strconv.Atoi(os.Getenv("LOCKLAB_TRIES")); err == nil {
		tries = n
	}
	s := chaos.Scenario{
		Name: "many", Deadline: 10 * time.Second,
		Try: func(ctx context.Context, t *chaos.Try) {
			runLoops(ctx, t, chaos.Loop{Hold: time.Millisecond, Think: time.Millisecond})
			switch h := t.Host(); t.Number % 3 {
			case 1:
				h.Pause()
			case 2:
				h.Kill()
			}
		},
	}
	tryScenario(t, s, chaos.Plan{}, "free") // the first try leaves permanent resources
	before := countOpened(t)
	tryScenario(t, s, chaos.Plan{Tries: tries}, "free", "hang")
	if after := countOpened(t); after > before {
		t.Errorf("%d open files and child processes after %d tries, %d before", after, tries, before)
	}
}

func countOpened(t *testing.T) int {
	files, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skip("no /proc: ", err)
	}
	return len(files) + len(chaos.Children(os.Getpid()))
}

// TestLoopTold: a looping holder whose lease ends early is recorded as notified.
func TestLoopTold(t *testing.T) {
	t.Parallel()
	told, released := 0, 0
	tryScenario(t, chaos.Scenario{
		Name: "told", Deadline: 10 * time.Second,
		Try: func(ctx context.Context, t *chaos.Try) {
			runLoops(ctx, t, chaos.Loop{Hold: time.Second})
			t.StopAll(ctx)
			told, released = countEvents(t.Subjects[0], oracle.Told), countEvents(t.Subjects[0], oracle.Releasing)
		},
	}, chaos.Plan{}, "lapse")
	if told < 2 || released > 2 { // each of two workers releases its hold at the end
		t.Errorf("%d leases ended by themselves, %d were released", told, released)
	}
}
