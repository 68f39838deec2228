package measure

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"locklab/harness/result"
	"locklab/internal/machine"
)

func TestGroup(t *testing.T) {
	sync := parallelSync(t)
	for _, clocks := range []int{1, 4} {
		const n = 4
		all := groupsOf(t, joinRanks(t, sync, n, func(o *RankOptions, m *Rank) {
			m.Clock = fmt.Sprint("clock", o.Rank%clocks)
			o.Job += fmt.Sprint("-", clocks)
		}))
		runTogether(n, func(r int) { useRanks(t, all[r]) })
		runTogether(n, func(r int) {
			if _, err := all[r].begin(t.Context(), "s", true, nil); err != nil {
				t.Errorf("rank %d: %v", r, err)
			}
		})
		checkClocks(t, all, clocks == 1)
		runTogether(n, func(r int) {
			if err := all[r].Leave(t.Context(), ""); err != nil {
				t.Errorf("rank %d: Leave: %v", r, err)
			}
			if err := context.Cause(all[r].Context()); !errors.Is(err, errLeft) {
				t.Errorf("rank %d: its context ended with %v", r, err)
			}
		})
	}
}

func useRanks(t *testing.T, g *Ranks) {
	for r, m := range g.Members() {
		if m.Rank != r || m.Host != fmt.Sprint("host", r) {
			t.Errorf("member %d is %+v", r, m)
		}
	}
	for i := range 5 {
		mine := fmt.Sprintf("%d of %d\n", i, g.options.Rank)
		got, err := g.Share(t.Context(), "plan", []byte(mine))
		if want := fmt.Sprintf("%d of 0\n", i); err != nil || string(got) != want {
			t.Errorf("Share = %q, %v: want %q", got, err, want)
		}
		values, err := g.Gather(t.Context(), "all", []byte(mine))
		for r := range g.members {
			if want := fmt.Sprintf("%d of %d\n", i, r); err != nil || string(values[r]) != want {
				t.Errorf("Gather = %q, %v: want %q of rank %d", values, err, want, r)
				return
			}
		}
	}
}

// checkClocks compares the clocks of ranks in one process, whose true offsets are known.
func checkClocks(t *testing.T, all []*Ranks, same bool) {
	t.Helper()
	low, high := int64(-1<<62), int64(1<<62)
	for r, g := range all {
		c := g.clock
		if same {
			if c != (RankClock{}) {
				t.Errorf("rank %d: clock %+v, and all have one", r, c)
			}
			continue
		}
		if c.Error < 0 {
			t.Errorf("rank %d: %+v", r, c)
			continue
		}
		stray := drift(machine.Monotonic() - c.At)
		low, high = max(low, c.Offset-c.Error-stray), min(high, c.Offset+c.Error+stray)
	}
	if same {
		return
	}
	if low > high {
		t.Errorf("the clocks of ranks on one machine contradict each other by %v", time.Duration(low-high))
	}
	before := machine.Monotonic()
	wall := time.Now().UnixNano()
	after := machine.Monotonic()
	if wall-before < low || wall-after > high {
		t.Errorf("the offset of the wall clock, which the server reads, is in [%d, %d]: not within [%d, %d]", wall-after, wall-before, low, high)
	}
}

func TestRanksOrder(t *testing.T) {
	sync := parallelSync(t)
	all := groupsOf(t, joinRanks(t, sync, 2, nil))
	runTogether(2, func(r int) {
		_, err := all[r].Gather(t.Context(), fmt.Sprint("barrier ", r), nil)
		if !errors.Is(err, errOrder) {
			t.Errorf("rank %d: %v", r, err)
		}
		requireContains(t, err, "barrier 0", "barrier 1", fmt.Sprintf("rank %d (host host%d", 1-r, 1-r))
		if _, again := all[r].Share(t.Context(), "", nil); again != err {
			t.Errorf("rank %d: the next barrier: %v, want %v", r, again, err)
		}
	})
}

func TestSameBuild(t *testing.T) {
	for _, test := range []struct {
		name   string
		change func(*Rank)
		want   string // "" is no error
	}{
		{"commit", func(m *Rank) { m.Commit = "c2" }, "rank 1 (host b, pid 77) runs another build: commit c2, this is c1"},
		{"binary", func(m *Rank) { m.Binary = "" }, "rank 1 (host b, pid 77) runs another build of the same commit: binary unknown, this is b1"},
		{"schema", func(m *Rank) { m.Schema = 2 }, "it writes files of schema 2, this of 1"},
		{"architecture", func(m *Rank) { m.Arch, m.Binary = "vax", "b2" }, ""},
	} {
		self := Rank{Host: "a", PID: 77, Arch: "amd64", Commit: "c1", Binary: "b1", Schema: 1}
		other := self
		other.Rank, other.Host = 1, "b"
		test.change(&other)
		if err := sameBuild([]Rank{self, other}, self); test.want != "" {
			requireRefused(t, err, test.want)
		} else if err != nil {
			t.Errorf("%s: %v", test.name, err)
		}
	}
	sync := parallelSync(t)
	for rank, j := range joinRanks(t, sync, 2, func(o *RankOptions, m *Rank) { m.Commit = fmt.Sprint("c", o.Rank) }) {
		requireRefused(t, j.err, fmt.Sprintf("rank %d (host host%d, pid ", 1-rank, 1-rank))
	}
}

func TestRefused(t *testing.T) {
	const secret = "s3cr3t"
	for _, test := range []struct {
		o    RankOptions
		want string
	}{
		{RankOptions{Ranks: 0}, "0 ranks: want 1 to 1024"},
		{RankOptions{Ranks: 1025}, "1025 ranks: want 1 to 1024"},
		{RankOptions{Rank: 2, Ranks: 2}, "rank 2 of 2: ranks count from 0 to 1"},
		{RankOptions{Rank: -1, Ranks: 2}, "rank -1 of 2"},
		{RankOptions{Ranks: 2, Job: "a:b"}, `the job is called "a:b"`},
		{RankOptions{Ranks: 2, Assemble: -1}, "the other ranks is -1ns"},
		{RankOptions{Ranks: 2}, "no server is named"},
		{RankOptions{Ranks: 2, Sync: "etcd://h:1"}, "ranks meet is invalid: want redis://[user:password@]host:port[/db], without TLS"},
		{RankOptions{Ranks: 2, Sync: "redis://u:" + secret + "@127.0.0.1:1"}, "Redis at 127.0.0.1:1, where the ranks meet, does not answer"},
	} {
		t.Run(test.want, func(t *testing.T) {
			t.Parallel()
			_, err := JoinRanks(t.Context(), test.o, Rank{})
			requireRefused(t, err, test.want)
			if err != nil && strings.Contains(err.Error(), secret) {
				t.Errorf("the password is in %q", err)
			}
		})
	}
}

func TestTaken(t *testing.T) {
	sync := parallelSync(t)
	all := groupsOf(t, joinRanks(t, sync, 2, func(o *RankOptions, m *Rank) { m.PID, o.expiry = 4242, 0 }))
	o := RankOptions{Rank: 1, Ranks: 2, Sync: sync, Job: jobOf(t), Assemble: patience}
	_, err := JoinRanks(t.Context(), o, Rank{})
	requireRefused(t, err, "rank 1 of job "+o.Job+" is taken by a live process: pid 4242 on host host1")
	for _, g := range all {
		if g.Context().Err() != nil {
			t.Errorf("the run that was there has ended: %v", context.Cause(g.Context()))
		}
		killRank(g)
	}
	groupsOf(t, joinRanks(t, sync, 2, nil))
}

func TestNumbers(t *testing.T) {
	sync := parallelSync(t)
	all := joinRanks(t, sync, 2, func(o *RankOptions, m *Rank) { o.Ranks, o.expiry = 2+o.Rank, 0 })
	requireRefused(t, all[0].err, "rank 1 (host host1, pid ", "counts 3 ranks, this one, rank 0, 2")
	requireRefused(t, all[1].err, "rank 0 (host host0, pid ", "counts 2 ranks, this one, rank 1, 3")
}

func TestAbsent(t *testing.T) {
	sync := parallelSync(t)
	all := make([]error, 2)
	runTogether(2, func(r int) {
		o := RankOptions{Rank: r, Ranks: 4, Sync: sync, Job: jobOf(t), Assemble: 8 * time.Second, expiry: 30 * time.Second}
		ctx := t.Context()
		if r == 1 {
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeout(ctx, 2*time.Second)
			defer cancel()
		}
		_, all[r] = JoinRanks(ctx, o, Rank{Host: fmt.Sprint("host", r), PID: 5})
	})
	requireRefused(t, all[0], "of the ranks 0 to 3 these did not come within 8s: 1, 2, 3")
	if !errors.Is(all[1], context.DeadlineExceeded) {
		t.Errorf("rank 1, whose context ended: %v", all[1])
	}
}

func TestLeave(t *testing.T) {
	sync := parallelSync(t)
	all := groupsOf(t, joinRanks(t, sync, 3, nil))
	requireNoError(t, all[1].Leave(t.Context(), ""))
	waitUntil(t, func() bool { return all[0].haveLeft()[1] && all[2].haveLeft()[1] }, "the others see that rank 1 has left")
	if err := all[0].Context().Err(); err != nil {
		t.Errorf("a rank has left regularly, and the run ended: %v", context.Cause(all[0].Context()))
	}
	_, err := all[0].Gather(t.Context(), "figures", nil)
	requireLost(t, err, "rank 1 (host host1, pid ", "has left the run, while this rank waits for it at figures")
	requireNoError(t, all[0].Leave(t.Context(), "the disk is full"))
	<-all[2].Context().Done()
	requireLost(t, context.Cause(all[2].Context()), "rank 0 (host host0, pid ", "has stopped the run: the disk is full")
	requireNoError(t, all[0].Leave(t.Context(), "again"))
}

func TestRanksCancel(t *testing.T) {
	sync := parallelSync(t)
	all := groupsOf(t, joinRanks(t, sync, 2, nil))
	because := errors.New("because")
	ctx, cancel := context.WithCancelCause(t.Context())
	time.AfterFunc(50*time.Millisecond, func() { cancel(because) })
	if _, err := all[0].begin(ctx, "s", true, nil); !errors.Is(err, because) {
		t.Errorf("begin = %v", err)
	}
}

func requireLost(t *testing.T, err error, want ...string) {
	t.Helper()
	if l, ok := errors.AsType[*LostRankError](err); !ok || strings.Contains(l.Error(), "\n") {
		t.Errorf("error %v, want a LostRankError of one line", err)
		return
	}
	requireContains(t, err, want...)
}

func waitUntil(t *testing.T, ok func() bool, what string) {
	t.Helper()
	for until := time.Now().Add(patience); !ok(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(until) {
			t.Fatalf("never: %s", what)
		}
	}
}

func TestDistinct(t *testing.T) {
	const a, b = "3f2a9c10-0000-4000-8000-000000000001", "77777777-0000-4000-8000-000000000002"
	at := func(host, clock string) Rank { return Rank{Host: host, Clock: clock} }
	for _, c := range []struct {
		members []Rank
		want    []string
	}{
		{[]Rank{at("localhost", a+" time:[1]"), at("localhost", b+" time:[1]"), at("other", a+" time:[1]")}, []string{"localhost~3f2a9c10", "localhost~77777777", "other"}},
		{[]Rank{at("localhost", a+" time:[1]"), at("localhost", a+" time:[2]")}, []string{"localhost", "localhost"}}, // one kernel
		{[]Rank{at("mac", "process 1 X"), at("mac", "process 2 Y")}, []string{"mac", "mac"}},                         // which does not report it
		{[]Rank{at("mac", "process 1 X"), at("mac", b+" time:none")}, []string{"mac", "mac~77777777"}},
	} {
		for r, m := range distinct(c.members) {
			if m.Host != c.want[r] {
				t.Errorf("%+v: rank %d is on %s, want %s", c.members, r, m.Host, c.want[r])
			}
		}
	}
	if boot := (result.Rank{Clock: RankClockName(), Host: "here"}).Machine(); runtime.GOOS == "linux" && len(boot) != len(a) {
		t.Errorf("the boot of the clock %q is called %q", RankClockName(), boot)
	}
}
