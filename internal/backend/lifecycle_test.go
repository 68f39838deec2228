package backend

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"locklab/harness"
	"locklab/internal/child"
)

// The owner of a server, whose every way to end is tested, is this test binary with these set.
const (
	ownerKind = "BACKEND_TEST_OWNER_KIND" // of server
	ownerWay  = "BACKEND_TEST_OWNER_WAY"  // to end
)

func TestMain(m *testing.M) {
	if kind := os.Getenv(ownerKind); kind != "" {
		if err := ownServer(kind, os.Getenv(ownerWay)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	_, _ = child.Start(exec.Command("true")) // whose helper stays, so it must precede leaktest
	os.Exit(m.Run())
}

// hurtKind is a group whose owner has restarted one server and stopped the other.
const hurtKind = "hurt"

// startOwned starts the servers of an owner.
func startOwned(kind string) (*Server, error) {
	if kind != hurtKind {
		return Start(context.Background(), kind)
	}
	o := RedisOptions{Replicas: 1, Persistence: Always, Clock: true}
	s, err := StartRedisOf(context.Background(), o)
	if errors.Is(err, harness.ErrUnavailable) {
		o.Clock = false
		s, err = StartRedisOf(context.Background(), o)
	}
	if err == nil {
		err = errors.Join(s.Restart(context.Background(), 0), s.Signal(1, unix.SIGSTOP))
	}
	return s, err
}

// ownServer starts a server, prints its process ids and ends in the way named.
func ownServer(kind, way string) error {
	ctx, cancel := signal.NotifyContext(context.Background(), unix.SIGINT)
	if way == "unhandled" {
		cancel() // SIGINT ends the process at once
	}
	defer cancel()
	s, err := startOwned(kind)
	if err != nil {
		return err
	}
	defer s.Stop()
	pid := s.PIDs()[0]
	for _, pid := range s.PIDs() {
		fmt.Print(pid, " ")
	}
	fmt.Println()
	switch way {
	case "panic":
		panic("as asked")
	case "exit":
		os.Exit(3)
	case "unhandled", "killed":
		select {}
	case "handled":
		<-ctx.Done()
		time.Sleep(50 * time.Millisecond) // for the signal to do its harm
		if !processAlive(pid) {
			return errors.New("the signal ended the server before its owner did")
		}
	case "crashed":
		unix.Kill(pid, unix.SIGKILL)
	case "stopped":
		unix.Kill(pid, unix.SIGSTOP)
	}
	return nil
}

// Ways for an owner to end: no server is left, nor after the next Start a directory.
var ways = []struct {
	name    string
	signal  syscall.Signal // sent to the owner's process group, as a terminal does
	orderly bool           // the owner runs its defers: nothing is left even before the next Start
}{
	{"return", 0, true},
	{"crashed", 0, true},
	{"stopped", 0, true},
	{"handled", unix.SIGINT, true},
	{"unhandled", unix.SIGTERM, false}, // SIGINT is ignored in a background job of a script
	{"killed", unix.SIGKILL, false},
	{"panic", 0, false},
	{"exit", 0, false},
}

func TestOwnerEnds(t *testing.T) {
	for _, way := range ways {
		for _, kind := range []string{harness.KindRedis, harness.KindZooKeeper, hurtKind} {
			if kind != harness.KindRedis && way.name != "return" && way.name != "killed" {
				continue
			}
			t.Run(way.name+"/"+kind, func(t *testing.T) {
				if !way.orderly && runtime.GOOS != "linux" {
					t.Skip("only Linux has a parent-death signal")
				}
				real := kind
				if kind == hurtKind {
					real = harness.KindRedis
				}
				needServers(t, real)
				temp := t.TempDir()
				owner, pids, stderr := startOwner(t, kind, way.name, temp)
				if way.signal != 0 {
					unix.Kill(-owner.Process.Pid, way.signal)
				}
				if err := owner.Wait(); way.orderly != (err == nil) {
					t.Errorf("the owner ended with %v, and said %q", err, stderr)
				}
				for _, pid := range pids {
					if !processGone(pid) {
						t.Errorf("server %d is still there", pid)
						unix.Kill(pid, unix.SIGKILL)
					}
				}
				if !way.orderly {
					sys := labSystem(t)
					sys.temp = temp
					requireNoError(t, mustStart(t, sys, real).Stop())
				}
				wantEmpty(t, temp)
			})
		}
	}
}

// startOwner runs an owner until its server is up.
func startOwner(t *testing.T, kind, way, temp string) (cmd *exec.Cmd, pids []int, stderr *bytes.Buffer) {
	t.Helper()
	cmd, stderr = exec.Command(os.Args[0]), new(bytes.Buffer)
	cmd.Env = append(os.Environ(), ownerKind+"="+kind, ownerWay+"="+way, "TMPDIR="+temp, "LOCKLAB_REDIS=", "LOCKLAB_ZOOKEEPER=")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Stderr = stderr
	out, err := cmd.StdoutPipe()
	requireNoError(t, err)
	requireNoError(t, cmd.Start())
	t.Cleanup(func() { cmd.Process.Kill() })
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("the owner of the server: %v: %v: %s", err, cmd.Wait(), stderr)
	}
	for word := range strings.FieldsSeq(line) {
		pid, err := strconv.Atoi(word)
		requireNoError(t, err)
		pids = append(pids, pid)
	}
	return cmd, pids, stderr
}

func processGone(pid int) bool {
	for deadline := time.Now().Add(10 * time.Second); processAlive(pid); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			return false
		}
	}
	return true
}

// processAlive returns false for a zombie.
func processAlive(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err == nil {
		_, after, _ := bytes.Cut(stat, []byte(") "))
		return !bytes.HasPrefix(after, []byte("Z"))
	}
	return unix.Kill(pid, 0) == nil
}

func scriptSystem(t *testing.T, text string) system {
	t.Helper()
	path := filepath.Join(t.TempDir(), "redis-server")
	requireNoError(t, os.WriteFile(path, []byte(text), 0o700))
	sys := labSystem(t)
	sys.lookPath = func(string) (string, error) { return path, nil }
	return sys
}

func TestStartFails(t *testing.T) {
	tests := map[string]struct{ text, want string }{
		"says why":       {"#!/bin/sh\necho the dog ate it >&2\nexit 3\n", `exit status 3; it printed "the dog ate it"`},
		"says nothing":   {"#!/bin/sh\n", "the server ended: exit status 0; it printed nothing"},
		"is killed":      {"#!/bin/sh\nkill -9 $$\n", "signal: killed"},
		"not executable": {"\x00\x01", "exec format error"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			sys := scriptSystem(t, test.text)
			_, err := startSetup(t.Context(), sys, harness.KindRedis, Setup{})
			if err == nil || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), "redis-server") {
				t.Errorf("error is %v, want %q", err, test.want)
			}
			if errors.Is(err, harness.ErrUnavailable) || errors.Is(err, harness.ErrUsage) {
				t.Errorf("%v would be skipped or blamed on the user", err)
			}
			wantEmpty(t, sys.temp)
		})
	}
}

func TestStartCancelled(t *testing.T) {
	pidFile := filepath.Join(t.TempDir(), "pid")
	sys := scriptSystem(t, "#!/bin/sh\necho $$ >"+pidFile+".new && mv "+pidFile+".new "+pidFile+"\nwhile :; do sleep 1; done\n")
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		defer cancel()
		for range 1000 {
			if _, err := os.Stat(pidFile); err == nil {
				return
			}
			time.Sleep(10 * time.Millisecond)
		}
	}()
	_, err := startSetup(ctx, sys, harness.KindRedis, Setup{})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error is %v, want context.Canceled", err)
	}
	text, err := os.ReadFile(pidFile)
	requireNoError(t, err)
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	requireNoError(t, err)
	if !processGone(pid) {
		t.Errorf("process %d is still there", pid)
	}
	wantEmpty(t, sys.temp)
}

// The port is taken by a server of the same kind, which could answer in place of ours, or none.
func TestPortTaken(t *testing.T) {
	for _, k := range Kinds {
		other := mustStart(t, labSystem(t), k.Name).Endpoint().Addrs[0][0]
		for name, taken := range map[string]string{"same": other, "deaf": deafAddr(t, "")} {
			t.Run(k.Name+"/"+name, func(t *testing.T) {
				sys := labSystem(t)
				calls := 0
				sys.ports = func(n int) ([]int, error) {
					if calls++; calls > 2 {
						return freePorts(n)
					}
					_, port, _ := net.SplitHostPort(taken)
					p, err := strconv.Atoi(port)
					requireNoError(t, err)
					free, err := freePorts(n)
					free[0] = p
					return free, err
				}
				s := mustStart(t, sys, k.Name)
				if got := s.Endpoint().Addrs[0][0]; calls != 3 || got == taken {
					t.Errorf("ports were asked for %d times and %s is used, want 3 times and another than %s", calls, got, taken)
				}
			})
		}
	}
}
