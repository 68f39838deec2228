package backend

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"locklab/harness"
	"locklab/internal/leaktest"
)

func mustStartRedisOf(t *testing.T, sys system, o RedisOptions) *Server {
	t.Helper()
	needServers(t, harness.KindRedis)
	s, err := startRedisOf(t.Context(), sys, o)
	return stopAtEnd(t, s, err)
}

func askServer(s *Server, i int, limit time.Duration, args ...any) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	return runCommand(ctx, s.servers[i].member, args...)
}

func wantReply(t *testing.T, s *Server, i int, want string, args ...any) {
	t.Helper()
	if reply, err := askServer(s, i, 10*time.Second, args...); err != nil || !strings.Contains(reply, want) {
		t.Errorf("server %d says to %v: %q, %v; want %q in it", i, args, reply, err, want)
	}
}

// TestRedisOf: the first server is the primary of the others, which are in sync.
func TestRedisOf(t *testing.T) {
	begin := time.Now()
	sys := labSystem(t, "LOCKLAB_REDIS", "127.0.0.1:1") // not the user's
	s := mustStartRedisOf(t, sys, RedisOptions{Replicas: 2, Args: []string{"--maxclients", "123"}})
	t.Logf("ready after %v", time.Since(begin))
	at := s.Endpoint()
	if len(at.Addrs) != 1 || len(at.Addrs[0]) != 3 || len(s.PIDs()) != 3 || !s.Owned() {
		t.Fatalf("addresses %v, processes %v: want three in one list", at.Addrs, s.PIDs())
	}
	info, err := askServer(s, 0, 10*time.Second, "INFO", "replication")
	if err != nil || !strings.Contains(info, "role:master") || strings.Count(info, "state=online") != 2 {
		t.Errorf("the primary says %q, %v: want two replicas online", info, err)
	}
	wantReply(t, s, 0, "OK", "SET", "key", "value")
	for i, addr := range at.Addrs[0] {
		if got := s.servers[i].addr(); got != addr {
			t.Errorf("server %d is at %s, and its address is %s", i, got, addr)
		}
		wantReply(t, s, i, "maxclients:123", "INFO", "clients")
	}
	for _, m := range s.servers[1:] {
		requireNoError(t, until(t.Context(), m.member, 1, "value", "GET", "key"))
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if err := until(ctx, s.servers[0].member, 1, "no such role", "INFO", "replication"); !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "INFO replication") {
		t.Errorf("error is %v, want the end of ctx with the request", err)
	}
	// A restarted replica is in sync when Settle returns.
	requireNoError(t, s.Kill(2))
	requireNoError(t, s.Restart(t.Context(), 2))
	requireNoError(t, s.Settle(t.Context()))
	wantReply(t, s, 2, "value", "GET", "key")
	requireNoError(t, s.Stop())
	wantEmpty(t, sys.temp)
}

// TestRestart: after a restart a server has its data from disk and serves its clients as before.
func TestRestart(t *testing.T) {
	for _, p := range []Persistence{None, EverySecond, Always} {
		t.Run(cmp.Or(string(p), "none"), func(t *testing.T) {
			t.Parallel()
			s := mustStartRedisOf(t, labSystem(t), RedisOptions{Persistence: p})
			wantReply(t, s, 0, "OK", "SET", "key", "value")
			for range 2 { // once from a running server, once from a dead one
				old := s.PIDs()[0]
				requireNoError(t, s.Restart(t.Context(), 0))
				if !processGone(old) {
					t.Errorf("process %d is still there", old)
				}
				if pid := s.PIDs()[0]; pid == old || !processAlive(pid) {
					t.Errorf("the process is %d, and was %d", pid, old)
				}
				wantReply(t, s, 0, fmt.Sprintf("process_id:%d\r", s.PIDs()[0]), "INFO", "server")
				keys, err := askServer(s, 0, 10*time.Second, "INFO", "keyspace")
				if kept := strings.Contains(keys, "keys=1"); err != nil || kept != (p != None) {
					t.Errorf("after a restart: %q, %v", keys, err)
				}
				requireNoError(t, s.Kill(0))
			}
		})
	}
}

// TestHurtRefused: only existing servers of the lab can be disturbed.
func TestHurtRefused(t *testing.T) {
	s := mustStartRedisOf(t, labSystem(t), RedisOptions{})
	user, err := startSetup(t.Context(), labSystem(t, "LOCKLAB_REDIS", s.Endpoint().Addrs[0][0]), harness.KindRedis, Setup{})
	requireNoError(t, err)
	if user.PIDs() != nil || len(s.PIDs()) != 1 {
		t.Errorf("processes %v and %v, want none of the user's", user.PIDs(), s.PIDs())
	}
	for name, c := range map[string]struct {
		s    *Server
		i    int
		want string
	}{
		"the user's": {user, 0, "did not start"},
		"too great":  {s, 1, "no server 1"},
		"negative":   {s, -1, "no server -1"},
	} {
		for what, err := range map[string]error{
			"Signal":  c.s.Signal(c.i, syscall.SIGSTOP),
			"Kill":    c.s.Kill(c.i),
			"Restart": c.s.Restart(t.Context(), c.i),
		} {
			if !errors.Is(err, harness.ErrUsage) || !strings.Contains(fmt.Sprint(err), c.want) {
				t.Errorf("%s: %s = %v, want ErrUsage with %q", name, what, err, c.want)
			}
		}
	}
	if err := user.Settle(t.Context()); !errors.Is(err, harness.ErrUsage) {
		t.Errorf("Settle = %v", err)
	}
	if err := s.SetClock(0, time.Hour); !errors.Is(err, harness.ErrUsage) {
		t.Errorf("SetClock without RedisOptions.Clock = %v", err)
	}
	if _, err := s.Leader(t.Context()); !errors.Is(err, harness.ErrUsage) {
		t.Errorf("Leader of Redis = %v", err)
	}
	if _, err := startRedisOf(t.Context(), labSystem(t), RedisOptions{Replicas: -1}); !errors.Is(err, harness.ErrUsage) {
		t.Errorf("-1 replicas: %v, want ErrUsage", err)
	}
	wantReply(t, s, 0, "PONG", "PING")
	requireNoError(t, s.Stop())
	if err := s.Restart(t.Context(), 0); !errors.Is(err, errStopped) {
		t.Errorf("Restart after Stop = %v", err)
	}
}

// TestRestartFails: a server whose port is taken is an error, and leaves nothing running.
func TestRestartFails(t *testing.T) {
	sys := labSystem(t)
	s := mustStartRedisOf(t, sys, RedisOptions{})
	requireNoError(t, s.Kill(0))
	l, err := net.Listen("tcp", s.Endpoint().Addrs[0][0])
	requireNoError(t, err)
	defer l.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if err := s.Restart(ctx, 0); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Restart = %v, want the end of ctx", err)
	}
	if !processGone(s.PIDs()[0]) {
		t.Error("a server runs that did not start")
	}
	restarted := make(chan error)
	go func() { restarted <- s.Restart(t.Context(), 0) }()
	time.Sleep(50 * time.Millisecond)
	l.Close()
	if err := <-restarted; err != nil {
		t.Errorf("Restart on a port that was taken for a while = %v", err)
	}
	wantReply(t, s, 0, "PONG", "PING")
	for old := s.PIDs()[0]; s.PIDs()[0] == old; { // the context has ended before the process starts, or after
		if err := s.Restart(ctx, 0); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Restart = %v, want the end of ctx", err)
		}
	}
	if !processGone(s.PIDs()[0]) {
		t.Error("a server runs that nothing waits for")
	}
	requireNoError(t, s.Restart(t.Context(), 0))
}

// TestHurtTogether hurts servers from all sides at once, and stops them in the middle. Nothing is
// left.
func TestHurtTogether(t *testing.T) {
	leaktest.All(t)
	sys, before := labSystem(t), openFiles(t)
	s := mustStartRedisOf(t, sys, RedisOptions{Replicas: 1})
	var all sync.WaitGroup
	stopped := make(chan struct{})
	var mu sync.Mutex
	pids := make(map[int]bool)
	for i := range 2 {
		for _, hurt := range []func() error{
			func() error { return s.Signal(i, syscall.SIGSTOP) },
			func() error { return s.Signal(i, syscall.SIGCONT) },
			func() error { return s.Kill(i) },
			func() error { return s.Restart(t.Context(), i) },
			func() error { return s.Restart(t.Context(), i) },
			func() error {
				mu.Lock()
				defer mu.Unlock()
				pids[s.PIDs()[i]] = true
				return nil
			},
		} {
			all.Go(func() {
				for {
					select {
					case <-stopped:
						return
					default:
						hurt() // it may fail: the server may be gone, or another one stop it
						time.Sleep(time.Millisecond)
					}
				}
			})
		}
	}
	time.Sleep(300 * time.Millisecond)
	requireNoError(t, s.Stop())
	wantEmpty(t, sys.temp)
	for _, pid := range s.PIDs() {
		if !processGone(pid) {
			t.Errorf("process %d is still there", pid)
		}
	}
	time.Sleep(20 * time.Millisecond)
	close(stopped)
	all.Wait()
	wantEmpty(t, sys.temp)
	for pid := range pids {
		if !processGone(pid) {
			t.Errorf("process %d is still there", pid)
		}
	}
	if len(pids) < 4 {
		t.Errorf("%d processes in all: the servers were not restarted", len(pids))
	}
	if after := openFiles(t); after > before {
		t.Errorf("%d files are open, %d before", after, before)
	}
}

func openFiles(t *testing.T) int {
	if runtime.GOOS != "linux" {
		return 0
	}
	entries, err := os.ReadDir("/proc/self/fd")
	requireNoError(t, err)
	return len(entries)
}

// TestSignal: signals reach the server that is meant, and no process when it is gone.
func TestSignal(t *testing.T) {
	s := mustStartRedisOf(t, labSystem(t), RedisOptions{Replicas: 1})
	for range 20 { // all threads have stopped on return
		if stopped(s.PIDs()[1]) && runtime.GOOS == "linux" {
			t.Fatal("a server that runs counts as stopped")
		}
		requireNoError(t, s.Signal(1, syscall.SIGSTOP))
		if !stopped(s.PIDs()[1]) {
			t.Fatal("a server that was stopped runs")
		}
		requireNoError(t, s.Signal(1, syscall.SIGCONT))
		wantReply(t, s, 1, "PONG", "PING")
	}
	requireNoError(t, s.Signal(1, syscall.SIGSTOP))
	wantReply(t, s, 0, "PONG", "PING")
	if reply, err := askServer(s, 1, 100*time.Millisecond, "PING"); err == nil {
		t.Errorf("a server that is stopped answers %q", reply)
	}
	requireNoError(t, s.Signal(1, syscall.SIGCONT))
	wantReply(t, s, 1, "PONG", "PING")
	requireNoError(t, s.Signal(1, syscall.SIGKILL))
	if !processGone(s.PIDs()[1]) {
		t.Fatal("the server does not die")
	}
	for range 2 {
		if err := s.Kill(1); err != nil { // waits
			t.Error(err)
		}
	}
	for _, sig := range []os.Signal{syscall.SIGSTOP, os.Kill} {
		if err := s.Signal(1, sig); !errors.Is(err, os.ErrProcessDone) {
			t.Errorf("%v for a server that is gone: %v, want ErrProcessDone", sig, err)
		}
	}
	requireNoError(t, s.Signal(0, syscall.SIGSTOP))
	begin := time.Now()
	if err := s.Kill(0); err != nil || processAlive(s.PIDs()[0]) {
		t.Errorf("Kill of a server that is stopped = %v after %v", err, time.Since(begin))
	}
}

// TestLayouts starts each layout, checks its properties, and that nothing remains afterwards.
func TestLayouts(t *testing.T) {
	for _, l := range []*Layout{Sentinel, Cluster} {
		t.Run(l.Name, func(t *testing.T) {
			t.Parallel()
			needServers(t, harness.KindRedis)
			sys := labSystem(t)
			begin := time.Now()
			s, err := startSetup(t.Context(), sys, harness.KindRedis, Setup{Layout: l})
			requireNoError(t, err)
			t.Logf("ready after %v", time.Since(begin))
			at := s.Endpoint()
			if got := len(at.Addrs[0]) + len(s.Sentinels()); len(at.Addrs) != 1 || got != l.servers || len(s.PIDs()) != got {
				t.Errorf("addresses %v, sentinels %v, processes %v: want %d in one list", at.Addrs, s.Sentinels(), s.PIDs(), l.servers)
			}
			for _, addr := range at.Addrs[0] {
				requireNoError(t, checkAnswers(at.Kind, addr))
			}
			requireNoError(t, s.Stop())
			for _, addr := range at.Addrs[0] {
				if err := checkAnswers(at.Kind, addr); err == nil {
					t.Errorf("%s answers after Stop", addr)
				}
			}
			wantEmpty(t, sys.temp)
		})
	}
}
