//go:build linux || darwin || freebsd

package peers_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"golang.org/x/sys/unix"

	"locklab/harness"
	"locklab/harness/locktest"
	"locklab/internal/backend"
	"locklab/peers"
)

func TestCuratorRequired(t *testing.T) { needJava(t) }

func TestFindCurator(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"jdk/java", "jdk/javac", "jre/java", "curator.jar"} {
		path := filepath.Join(dir, name)
		requireNoError(t, errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, nil, 0o700)))
	}
	link := filepath.Join(dir, "java")
	requireNoError(t, os.Symlink("jdk/java", link))
	jar, none := filepath.Join(dir, "curator.jar"), filepath.Join(dir, "none.jar")
	for name, c := range map[string]struct {
		java, env, jar string
		want           string // class path
		err            string
	}{
		"found":       {"jdk/java", "", jar, jar, ""},
		"by a link":   {"java", "", jar, jar, ""},
		"class path":  {"jdk/java", "a.jar:b.jar", none, "a.jar:b.jar", ""},
		"no jar":      {"jdk/java", "", none, "", "LOCKLAB_CURATOR="},
		"no compiler": {"jre/java", "", jar, "", "has no compiler"},
		"no java":     {"", "", jar, "", "no java"},
	} {
		t.Run(name, func(t *testing.T) {
			java := func() (string, error) {
				if c.java == "" {
					return "", harness.ErrUnavailable
				}
				return filepath.Join(dir, c.java), nil
			}
			_, got, err := peers.FindCurator(func(string) string { return c.env }, java, []string{c.jar})
			if got != c.want || (err == nil) != (c.err == "") {
				t.Fatalf("class path %q, %v, want %q", got, err, c.want)
			}
			if err != nil && (!errors.Is(err, harness.ErrUnavailable) || !strings.Contains(err.Error(), c.err) || !strings.Contains(err.Error(), "scripts/deps curator")) {
				t.Errorf("error is %v, want ErrUnavailable, %q, and what to do", err, c.err)
			}
		})
	}
}

// Timeouts of the Java processes in these tests.
const (
	javaAnswer = 2 * time.Second
	javaLinger = 500 * time.Millisecond
)

type javaStage struct {
	java    *peers.JavaPeer
	at      harness.Endpoint
	key     string
	client  harness.Remote
	workers []harness.Session
	lease   harness.Lease
}

func newJavaStage(t *testing.T, at harness.Endpoint) *javaStage {
	t.Helper()
	s := &javaStage{java: peers.NewJavaPeer(javaAnswer, javaLinger, 100*time.Millisecond), at: at, key: newKey()}
	s.client = s.connect(t)
	for i := range 2 {
		w, err := s.client.Join(t.Context(), i)
		requireNoError(t, err)
		s.workers = append(s.workers, w)
	}
	s.lease = mustLock(t, s.workers[0])
	return s
}

func (s *javaStage) connect(t *testing.T) harness.Remote {
	t.Helper()
	c, err := s.java.Client(t.Context(), s.at, s.key)
	requireNoError(t, err)
	return c
}

func (s *javaStage) close(t *testing.T) {
	t.Helper()
	for _, w := range s.workers {
		requireNoError(t, w.Close())
	}
	requireNoError(t, s.client.Close())
}

func mustLock(t *testing.T, s harness.Session) harness.Lease {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	l, err := s.Lock(ctx)
	requireNoError(t, err)
	return l
}

func takeTurn(t *testing.T, s harness.Session) {
	t.Helper()
	requireNoError(t, mustLock(t, s).Unlock(t.Context()))
}

func awaitWithin(t *testing.T, d time.Duration, ch <-chan struct{}, what string) {
	t.Helper()
	select {
	case <-ch:
	case <-time.After(d):
		t.Fatalf("not within %v: %s", d, what)
	}
}

// works checks that a client in a new process gets the lock when the old session ends.
func (s *javaStage) works(t *testing.T, old int) {
	t.Helper()
	c := s.connect(t)
	defer c.Close()
	if s.java.PID() == old {
		t.Error("the process is still the old one")
	}
	w, err := c.Join(t.Context(), 0)
	requireNoError(t, err)
	defer w.Close()
	takeTurn(t, w)
}

func TestJava(t *testing.T) {
	t.Parallel()
	needJava(t)
	at := locktest.Endpoint(t, harness.KindZooKeeper)
	at.SessionTimeout = 2 * time.Second
	for name, run := range map[string]func(*testing.T, *javaStage){
		"ends with its last client": javaEndsWithClients,
		"ends with its input":       javaEndsWithInput,
		"hangs":                     javaHangs,
		"is killed":                 javaIsKilled,
		"hangs in a cell":           javaHangsInCell,
		"worker leaves":             workerLeaves,
		"worker leaves as it waits": workerLeavesWaiting,
		"foreign hand":              foreignHand,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // they wait for timeouts, each with a separate process
			s := newJavaStage(t, at)
			run(t, s)
		})
	}
}

func javaEndsWithClients(t *testing.T, s *javaStage) {
	other := s.connect(t)
	s.close(t)
	select {
	case <-s.java.Done():
		t.Error("the process ended although it has a client")
	case <-time.After(2 * javaLinger):
	}
	requireNoError(t, other.Close())
	awaitWithin(t, javaLinger+10*time.Second, s.java.Done(), "the process ends after its last client")
}

func javaEndsWithInput(t *testing.T, s *javaStage) {
	s.java.EndInput()
	awaitWithin(t, 5*time.Second, s.java.Done(), "the process ends with its standard input")
	s.close(t)
}

func javaHangs(t *testing.T, s *javaStage) {
	pid := s.java.PID()
	requireNoError(t, unix.Kill(pid, unix.SIGSTOP))
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	start := time.Now()
	_, err := s.workers[1].Lock(ctx)
	if took := time.Since(start); !errors.Is(err, context.DeadlineExceeded) || took > 3*javaAnswer {
		t.Errorf("Lock = %v after %v, want %v soon", err, took, context.DeadlineExceeded)
	}
	awaitWithin(t, time.Second, s.java.Done(), "a process that hangs is killed")
	s.lost(t)
	s.close(t)
}

func (s *javaStage) lost(t *testing.T) {
	t.Helper()
	awaitWithin(t, 5*time.Second, s.lease.Done(), "the lease ends with the process")
	expectError(t, s.lease.Err(), harness.ErrLost)
	expectError(t, s.lease.Unlock(t.Context()), harness.ErrNotHeld)
}

func javaIsKilled(t *testing.T, s *javaStage) {
	pid := s.java.PID()
	time.AfterFunc(300*time.Millisecond, func() { unix.Kill(pid, unix.SIGKILL) })
	if _, err := s.workers[1].Lock(t.Context()); err == nil {
		t.Error("a waiter whose process is killed gets the lock")
	}
	s.lost(t)
	s.close(t)
	s.works(t, pid)
}

func javaHangsInCell(t *testing.T, s *javaStage) {
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	start := time.Now()
	err := peers.MeasureCurator(ctx, s.java, s.at, newKey(), "mutex", harness.Workload{Workers: 2, Window: time.Minute},
		func() { unix.Kill(s.java.PID(), unix.SIGSTOP) })
	if !errors.Is(err, context.DeadlineExceeded) || time.Since(start) > 3*javaAnswer {
		t.Errorf("a cell that hangs: %v after %v", err, time.Since(start))
	}
	awaitWithin(t, time.Second, s.java.Done(), "a process that hangs is killed")
	s.lost(t)
	s.close(t)
}

// A session that is closed while it holds the lock does not keep it.
func workerLeaves(t *testing.T, s *javaStage) {
	requireNoError(t, s.workers[0].Close())
	takeTurn(t, s.workers[1])
	s.close(t)
}

// A session may be closed while it waits for the lock, whose context ends at the same time.
func workerLeavesWaiting(t *testing.T, s *javaStage) {
	ctx, cancel := context.WithCancel(t.Context())
	failed := make(chan error, 1)
	go func() {
		_, err := s.workers[1].Lock(ctx)
		failed <- err
	}()
	time.Sleep(200 * time.Millisecond) // it waits
	requireNoError(t, s.workers[1].Close())
	cancel()
	if err := <-failed; err == nil {
		t.Error("a session that is closed gets the lock")
	}
	requireNoError(t, s.lease.Unlock(t.Context()))
	s.close(t)
}

// foreignHand: a removed node is not noticed. If that changes, change the documentation.
func foreignHand(t *testing.T, s *javaStage) {
	look := newObserver(t, s.at, "/locklab/"+s.key)
	names, _, err := look.conn.Children(look.path)
	if err != nil || len(names) != 1 {
		t.Fatalf("tickets %q, %v, want one", names, err)
	}
	requireNoError(t, look.conn.Delete(look.path+"/"+names[0], -1))
	if err := s.lease.Unlock(t.Context()); err != nil {
		t.Errorf("Unlock = %v: Curator notices that its node is gone", err)
	}
	s.close(t)
	for _, path := range []string{look.path, look.path + "-warm-up"} {
		if ok, _, err := look.conn.Exists(path); ok || err != nil {
			t.Errorf("after Close %s exists: %t, %v", path, ok, err)
		}
	}
}

func TestCuratorLost(t *testing.T) {
	needTime(t)
	t.Parallel()
	needJava(t)
	server, err := backend.Start(t.Context(), harness.KindZooKeeper)
	locktest.RequireServers(t, harness.KindZooKeeper, err)
	defer server.Stop()
	if !server.Owned() {
		t.Skip("the server is not ours to freeze")
	}
	at := server.Endpoint()
	at.SessionTimeout = 2 * time.Second
	s := newJavaStage(t, at)
	defer s.close(t)
	requireNoError(t, unix.Kill(server.PIDs()[0], unix.SIGSTOP))
	awaitWithin(t, 20*time.Second, s.lease.Done(), "Curator reports LOST")
	requireNoError(t, unix.Kill(server.PIDs()[0], unix.SIGCONT))
	s.lost(t)
	l := mustLock(t, s.workers[1]) // in the next session
	if err := l.Err(); err != nil {
		t.Errorf("a lease of the next session has Err %v", err)
	}
	requireNoError(t, l.Unlock(t.Context()))
}

// TestCuratorCredentials checks a ticket of a client with a password, which no other may remove.
func TestCuratorCredentials(t *testing.T) {
	needTime(t)
	t.Parallel()
	needJava(t)
	at := locktest.Endpoint(t, harness.KindZooKeeper)
	newJavaStage(t, at).close(t) // makes the parents, for all clients
	at.Username, at.Password = "locklab", "se cret&=%"
	s := newJavaStage(t, at)
	look := newObserver(t, at, "/locklab/"+s.key)
	names, _, err := look.conn.Children(look.path)
	if err != nil || len(names) != 1 {
		t.Fatalf("tickets %q, %v, want one", names, err)
	}
	acl, _, err := look.conn.GetACL(look.path + "/" + names[0])
	if want := zk.DigestACL(zk.PermAll, at.Username, at.Password); err != nil || !slices.Equal(acl, want) {
		t.Errorf("the ticket's ACL is %+v, %v, want %+v", acl, err, want)
	}
	requireNoError(t, s.lease.Unlock(t.Context()))
	s.close(t)
	if ok, _, err := look.conn.Exists(look.path); ok || err != nil {
		t.Errorf("after Close the lock's node exists: %t, %v", ok, err)
	}
}
