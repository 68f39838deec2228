//go:build unix

package measure

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"locklab/internal/child"
)

type process struct {
	*child.Process
	in io.Writer

	mu    sync.Mutex
	lines []string
}

func spawnRank(t *testing.T, o RankOptions) *process {
	t.Helper()
	text, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), asChild+"="+string(text))
	p := new(process)
	out, w := io.Pipe()
	cmd.Stdout, cmd.Stderr = w, os.Stderr
	in, into, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdin, p.in = in, into
	if p.Process, err = child.Start(cmd); err != nil {
		t.Fatal(err)
	}
	in.Close()
	read := make(chan struct{})
	go func() {
		defer close(read)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			p.mu.Lock()
			p.lines = append(p.lines, lines.Text())
			p.mu.Unlock()
		}
	}()
	t.Cleanup(func() {
		p.Kill()
		into.Close()
		w.Close()
		<-read
		t.Logf("rank %d said %q", o.Rank, p.lines)
	})
	return p
}

func (p *process) says(t *testing.T, prefix string) (line string) {
	t.Helper()
	await(t, func() bool {
		p.mu.Lock()
		defer p.mu.Unlock()
		for _, l := range p.lines {
			if strings.HasPrefix(l, prefix) {
				line = l
				return true
			}
		}
		return false
	}, prefix)
	return line
}

func mixed(t *testing.T, sync string, n int, processes ...int) (here map[int]*Ranks, away map[int]*process) {
	t.Helper()
	here, away = make(map[int]*Ranks), make(map[int]*process)
	o := RankOptions{Ranks: n, Sync: sync, Job: jobOf(t), Assemble: patience}
	for _, r := range processes {
		o.Rank = r
		away[r] = spawnRank(t, o)
	}
	groups := make([]*Ranks, n)
	runTogether(n, func(r int) {
		if away[r] != nil {
			return
		}
		o := o
		o.Rank = r
		g, err := JoinRanks(t.Context(), o, Rank{Host: fmt.Sprint("host", r)})
		if err != nil {
			t.Errorf("rank %d: %v", r, err)
			return
		}
		groups[r] = g
	})
	for r, g := range groups {
		if g != nil {
			here[r] = g
			t.Cleanup(func() { g.Leave(context.Background(), "") })
		}
	}
	if t.Failed() {
		t.FailNow()
	}
	for _, p := range away {
		p.says(t, "joined")
	}
	return here, away
}

func endedRanks(t *testing.T, all map[int]*Ranks, since time.Time) map[int]error {
	t.Helper()
	causes := make(map[int]error)
	for r, g := range all {
		select {
		case <-g.Context().Done():
			causes[r] = context.Cause(g.Context())
			t.Logf("rank %d after %v: %v", r, time.Since(since).Round(time.Millisecond), causes[r])
		case <-time.After(patience):
			t.Fatalf("rank %d never noticed", r)
		}
	}
	return causes
}

// TestGone: at no barrier, too, a killed or stopped process is noticed and named.
func TestGone(t *testing.T) {
	for _, test := range []struct {
		name   string
		ranks  int
		away   []int
		signal syscall.Signal
	}{
		{"killed", 3, []int{2}, syscall.SIGKILL},
		{"stopped", 3, []int{1}, syscall.SIGSTOP},
		{"the first", 2, []int{0}, syscall.SIGKILL},
		{"all others", 3, []int{0, 1}, syscall.SIGSTOP},
	} {
		t.Run(test.name, func(t *testing.T) {
			sync := parallel(t)
			here, away := mixed(t, sync, test.ranks, test.away...)
			since := time.Now()
			for _, r := range test.away {
				if err := away[r].Signal(test.signal); err != nil {
					t.Fatal(err)
				}
			}
			for _, err := range endedRanks(t, here, since) {
				lost(t, err, "(host child, pid ", ") is gone: killed, stopped or cut off")
				if len(test.away) == 1 {
					contains(t, err, fmt.Sprintf("rank %d (host child, pid %d)", test.away[0], away[test.away[0]].PID()))
				}
			}
			if test.signal == syscall.SIGSTOP { // and it learns of it when it runs again
				for _, r := range test.away {
					away[r].Signal(syscall.SIGCONT)
					line := away[r].says(t, "lost:")
					if !strings.Contains(line, "is this one, and was taken for gone") && !strings.Contains(line, "has stopped the run") {
						t.Errorf("rank %d, which had been stopped, says %q", r, line)
					}
				}
			}
		})
	}
}

// TestGoneAtBarrier: a rank killed after its post counts; the next barrier fails.
func TestGoneAtBarrier(t *testing.T) {
	sync := parallel(t)
	here, away := mixed(t, sync, 3, 2)
	fmt.Fprintln(away[2].in, "one")
	away[2].says(t, "goes to one")
	g := here[0]
	await(t, func() bool {
		v, err := g.board.exchange(t.Context(), g.run, fmt.Sprint(g.next), nil)
		return err == nil && v[2] != nil
	}, "rank 2 has posted")
	since := time.Now()
	away[2].Kill()
	runTogether(2, func(r int) {
		if _, err := here[r].Gather(t.Context(), "one", nil); err != nil {
			t.Errorf("rank %d: %v", r, err)
		}
		_, err := here[r].start(t.Context(), "two")
		lost(t, err, fmt.Sprintf("rank 2 (host child, pid %d) is gone", away[2].PID()))
	})
	endedRanks(t, here, since)
	for _, g := range here {
		g.Leave(t.Context(), "")
	}
	again, _ := mixed(t, sync, 3, 1)
	if again[0].run == g.run {
		t.Error("the second run has the name of the first")
	}
}

// TestKilledRun: a new run begins when a killed one's claims expire, and leaves nothing.
func TestKilledRun(t *testing.T) {
	sync := parallel(t)
	_, away := mixed(t, sync, 3, 0, 1, 2)
	for _, p := range away {
		p.Kill()
	}
	here, _ := mixed(t, sync, 2)
	b := here[1].board
	for r := range 2 {
		if r == 1 {
			checkLeft(t, b, true)
		}
		if err := here[r].Leave(t.Context(), ""); err != nil {
			t.Error(err)
		}
	}
	o := RankOptions{Ranks: 1, Sync: sync, Job: jobOf(t) + "-looks"}
	g, err := JoinRanks(t.Context(), o, Rank{})
	if err != nil {
		t.Fatal(err)
	}
	defer g.Leave(context.Background(), "")
	g.board.job = jobOf(t)
	checkLeft(t, g.board, false)
	g.board.job = o.Job
}

func checkLeft(t *testing.T, b *board, there bool) {
	t.Helper()
	keys, err := b.client.Keys(t.Context(), b.key("*")).Result()
	if err != nil || len(keys) == 0 && there {
		t.Errorf("keys %q, %v", keys, err)
	}
	for _, k := range keys {
		ttl, err := b.client.PTTL(t.Context(), k).Result()
		if err != nil || ttl <= 0 && ttl != -2 || ttl > postedExpiry {
			t.Errorf("key %s expires in %v, %v", k, ttl, err)
		}
		if strings.Contains(k, ":claim:") && !there {
			t.Errorf("claim %s is left", k)
		}
	}
}

func TestDiesBeforeAll(t *testing.T) {
	sync := parallel(t)
	o := RankOptions{Ranks: 3, Sync: sync, Job: jobOf(t), Assemble: patience}
	o.Rank = 1
	first := spawnRank(t, o)
	b, err := o.connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer b.client.Close()
	await(t, func() bool { return b.client.Exists(t.Context(), b.claimKey(1)).Val() == 1 }, "rank 1 has claimed")
	first.Kill()
	mixed(t, sync, 3, 1)
}
