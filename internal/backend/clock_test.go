package backend

import (
	"context"
	"errors"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"locklab/harness"
)

func startClocked(t *testing.T, sys system, o RedisOptions) *Server {
	t.Helper()
	needServers(t, harness.KindRedis)
	o.Clock = true
	s, err := startRedisOf(t.Context(), sys, o)
	needClock(t, err)
	return stopAtEnd(t, s, nil)
}

func needClock(t *testing.T, err error) {
	t.Helper()
	if errors.Is(err, harness.ErrUnavailable) && !(runtime.GOOS == "linux" && Required(harness.KindRedis)) {
		t.Skip(err)
	}
	requireNoError(t, err)
}

// aheadOf returns bounds on how far a server's clock is ahead of this machine's, to the second.
func aheadOf(t *testing.T, s *Server, i int) (from, to time.Duration) {
	t.Helper()
	client, err := openRedis(harness.Endpoint{}, s.servers[i].addr())
	requireNoError(t, err)
	defer client.Close()
	requireNoError(t, client.Ping(t.Context()).Err())
	before := time.Now()
	at, err := client.Time(t.Context()).Result()
	after := time.Now()
	requireNoError(t, err)
	// Its microseconds are cut off.
	return at.Sub(after) - time.Microsecond, at.Sub(before) + time.Microsecond
}

// TestSetClock steps a server's clock forward and back, by more and less than a second.
func TestSetClock(t *testing.T) {
	sys := labSystem(t)
	s := startClocked(t, sys, RedisOptions{Replicas: 1, Persistence: EverySecond})
	wantReply(t, s, 0, "OK", "SET", "long", "x", "PX", "3600000")
	wantReply(t, s, 0, "OK", "SET", "kept", "x")
	pid := s.PIDs()[0]
	ahead := func(want time.Duration) {
		t.Helper()
		if from, to := aheadOf(t, s, 0); from > want || to < want {
			t.Errorf("the clock is ahead by %v to %v, want %v", from, to, want)
		}
	}
	set := func(offset time.Duration) {
		t.Helper()
		requireNoError(t, s.SetClock(0, offset))
		ahead(offset)
	}
	ahead(0)
	for _, offset := range []time.Duration{
		300 * time.Millisecond, 59 * time.Minute, -90 * time.Second, -400 * time.Millisecond, -24 * time.Hour, 0,
	} {
		set(offset)
		wantReply(t, s, 0, "keys=2", "INFO", "keyspace")
	}
	if err := setClock(s.servers[0].dir, pid+1, 0); !errors.Is(err, errClock) {
		t.Errorf("setClock of a process that does not read it = %v, want errClock", err)
	}
	set(61 * time.Minute)
	if reply, err := askServer(s, 0, 10*time.Second, "GET", "long"); err == nil {
		t.Errorf("a key whose time is over by the clock is %q", reply)
	}
	wantReply(t, s, 0, "keys=1", "INFO", "keyspace") // the other one
	if from, to := aheadOf(t, s, 1); from > 0 || to < 0 {
		t.Errorf("the clock of the other server is ahead by %v to %v", from, to)
	}
	if s.PIDs()[0] != pid || !processAlive(pid) {
		t.Error("the server has crashed")
	}
	// A restart is in the same time.
	requireNoError(t, s.Restart(t.Context(), 0))
	ahead(61 * time.Minute)
	set(-time.Hour)
	requireNoError(t, s.Stop())
	wantEmpty(t, sys.temp)
	if err := s.SetClock(0, 0); !errors.Is(err, errStopped) {
		t.Errorf("SetClock after Stop = %v", err)
	}
}

// TestNoCompiler: the error names the missing compiler, and no files remain.
func TestNoCompiler(t *testing.T) {
	needServers(t, harness.KindRedis)
	for name, want := range map[string]string{
		"/nonexistent/cc": "install gcc or clang",
		"false":           "false does not build",
	} {
		t.Run(filepath.Base(name), func(t *testing.T) {
			t.Setenv("CC", name)
			sys := labSystem(t)
			_, err := startRedisOf(t.Context(), sys, RedisOptions{Clock: true})
			if !errors.Is(err, harness.ErrUnavailable) || !strings.Contains(err.Error(), want) {
				t.Errorf("error is %v, want ErrUnavailable with %q", err, want)
			}
			wantEmpty(t, sys.temp)
		})
	}
	t.Setenv("CC", "true") // not cc, which this machine may lack
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := buildClockShim(ctx, t.TempDir()); !errors.Is(err, context.Canceled) {
		t.Errorf("error is %v, want context.Canceled", err)
	}
}
