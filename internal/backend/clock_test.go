//go:build linux || darwin || freebsd

package backend

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"locklab/harness"
)

// startClocked starts servers whose clocks can be set.
func startClocked(t *testing.T, sys system, o RedisOptions) *Server {
	t.Helper()
	need(t, harness.KindRedis)
	o.Clock = true
	s, err := startRedisOf(t.Context(), sys, o)
	needClock(t, err)
	return stopAtEnd(t, s, nil)
}

// needClock skips t if clocks cannot be set; it fails t on Linux if servers are required.
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
	c, err := net.Dial("tcp", s.group.servers[i].addr())
	requireNoError(t, err)
	defer c.Close()
	c.SetDeadline(time.Now().Add(10 * time.Second))
	before := time.Now()
	if _, err := io.WriteString(c, "TIME\r\n"); err != nil {
		t.Fatal(err)
	}
	var words []string
	for r := bufio.NewReader(c); len(words) < 5; {
		line, err := r.ReadString('\n')
		requireNoError(t, err)
		words = append(words, strings.TrimSpace(line))
	}
	after := time.Now()
	sec, err1 := strconv.ParseInt(words[2], 10, 64)
	usec, err2 := strconv.ParseInt(words[4], 10, 64)
	requireNoError(t, errors.Join(err1, err2))
	at := time.Unix(sec, usec*1000)
	// Its microseconds are cut off.
	return at.Sub(after) - time.Microsecond, at.Sub(before) + time.Microsecond
}

// TestSetClock steps a server's clock forward and back, by more and less than a second.
func TestSetClock(t *testing.T) {
	sys := lab(t)
	s := startClocked(t, sys, RedisOptions{Replicas: 1, Persistence: EverySecond})
	wantReply(t, s, 0, "OK", "SET", "long", "x", "PX", "3600000")
	wantReply(t, s, 0, "OK", "SET", "kept", "x")
	pid := s.PID(0)
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
	set(61 * time.Minute)
	if reply, err := ask(s, 0, 10*time.Second, "GET", "long"); err == nil {
		t.Errorf("a key whose time is over by the clock is %q", reply)
	}
	wantReply(t, s, 0, "keys=1", "INFO", "keyspace") // the other one
	if from, to := aheadOf(t, s, 1); from > 0 || to < 0 {
		t.Errorf("the clock of the other server is ahead by %v to %v", from, to)
	}
	if s.PID(0) != pid || !alive(pid) {
		t.Error("the server has crashed")
	}
	// A restart is in the same time.
	requireNoError(t, s.Restart(t.Context(), 0))
	ahead(61 * time.Minute)
	set(-time.Hour)
	expectNoError(t, s.Stop())
	wantEmpty(t, sys.temp)
	if err := s.SetClock(0, 0); !errors.Is(err, errStopped) {
		t.Errorf("SetClock after Stop = %v", err)
	}
}

// TestClockShim: seconds and nanoseconds that a program is given belong together.
func TestClockShim(t *testing.T) {
	dir := t.TempDir()
	needClock(t, buildClockShim(t.Context(), dir))
	file, err := clockEnviron(member{dir: dir})
	requireNoError(t, err)
	const reader = 7
	text := make([]byte, clockSize)
	for _, offset := range []time.Duration{0, 1, time.Second - 1, 1 - time.Second, -time.Second, -1} {
		binary.NativeEndian.PutUint64(text[8:], reader)
		requireNoError(t, os.WriteFile(filepath.Join(dir, clockName), text, 0o600))
		requireNoError(t, setClock(dir, reader, offset))
		if err := setClock(dir, reader+1, offset); !errors.Is(err, errClock) {
			t.Fatalf("setClock of a process that does not read it = %v, want errClock", err)
		}
		cmd := exec.CommandContext(t.Context(), "date", "+%s %N")
		cmd.Env = append(os.Environ(), "LD_PRELOAD="+filepath.Join(dir, clockLibrary), file)
		before := time.Now()
		out, err := cmd.Output()
		after := time.Now()
		requireNoError(t, err)
		seconds, rest, _ := strings.Cut(strings.TrimSpace(string(out)), " ")
		sec, err1 := strconv.ParseInt(seconds, 10, 64)
		nsec, err2 := strconv.ParseInt(rest, 10, 64)
		if err := errors.Join(err1, err2); err != nil || nsec < 0 || nsec >= 1e9 {
			t.Fatalf("with %v the time is %q (%v)", offset, out, err)
		}
		if at := time.Unix(sec, nsec); at.Before(before.Add(offset)) || at.After(after.Add(offset)) {
			t.Errorf("with %v the time is %v, between %v and %v", offset, at, before, after)
		}
	}
}

// TestNoCompiler: the error names the missing compiler, and no files remain.
func TestNoCompiler(t *testing.T) {
	need(t, harness.KindRedis)
	for name, want := range map[string]string{
		"/nonexistent/cc": "install gcc or clang",
		"false":           "false does not build",
	} {
		t.Run(filepath.Base(name), func(t *testing.T) {
			t.Setenv("CC", name)
			sys := lab(t)
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
