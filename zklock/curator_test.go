package zklock_test

import (
	"bufio"
	"cmp"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"locklab/harness"
	"locklab/internal/backend"
	"locklab/internal/leaktest"
	"locklab/peers"
	"locklab/zklock"
)

// TestCurator shares the permits of a semaphore with Curator.
func TestCurator(t *testing.T) {
	t.Parallel()
	at := endpoint(t)
	program, classPath := findCurator(t)
	if at.Username != "" || at.TLS != nil {
		t.Skip("Curator connects without credentials, which the server at hand wants")
	}
	leaktest.Own(t)
	path, holders := newPath(), t.TempDir()
	cmd := exec.CommandContext(t.Context(), program, "-Xmx256m", "-cp", classPath, "testdata/Interop.java", at.Addrs[0][0], path, holders)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	requireNoError(t, err)
	requireNoError(t, cmd.Start())
	defer cmd.Wait()
	defer cmd.Process.Kill()
	says := bufio.NewScanner(out)
	expect(t, says, "READY")
	var wg sync.WaitGroup
	defer wg.Wait()
	var over atomic.Bool
	defer over.Store(true)
	for i := range 2 {
		s := dial(t, at, zklock.ClientOptions{}).SemaphoreV2(path+"/semaphore", 2, zklock.Options{})
		mine := filepath.Join(holders, "go"+strconv.Itoa(i))
		wg.Go(func() {
			for !over.Load() {
				l := acquire(t, s.Lock)
				requireTwoHolders(t, holders, mine)
				unlock(t, l)
			}
		})
	}
	expect(t, says, "DONE 0") // violations that Curator saw
	over.Store(true)
	wg.Wait()
}

// requireTwoHolders makes the file mine of a holder, and checks that at most one other is there.
func requireTwoHolders(t *testing.T, dir, mine string) {
	t.Helper()
	err := os.WriteFile(mine, nil, 0o600)
	time.Sleep(2 * time.Millisecond)
	all, read := os.ReadDir(dir)
	if err := errors.Join(err, read, os.Remove(mine)); err != nil || len(all) > 2 {
		t.Errorf("%d holders of 2 permits (%v)", len(all), err)
	}
}

func findCurator(t *testing.T) (program, classPath string) {
	t.Helper()
	if why := variant(t, "curator-mutex").Unavailable; why != "" {
		if backend.Required("java") {
			t.Fatal(why)
		}
		t.Skip(why)
	}
	program, err := backend.Java()
	requireNoError(t, err)
	return program, cmp.Or(os.Getenv(peers.CuratorEnv), "/usr/share/java/curator-recipes.jar:/usr/share/java/slf4j-nop.jar")
}

func expect(t *testing.T, says *bufio.Scanner, want string) {
	t.Helper()
	if !says.Scan() || says.Text() != want {
		t.Fatalf("Curator's side says %q, %v, want %q", says.Text(), says.Err(), want)
	}
}

// TestMixedVersions: a write to the ticket ahead is the lock only if that has this version.
// Behind others a waiter lists the queue, and waits until the ticket is gone.
func TestMixedVersions(t *testing.T) {
	t.Parallel()
	var tests []serverTest
	for name, data := range map[string]string{
		"this version":        "zklock-sealed 1 another and its name",
		"before versions":     "zklock: sealed until it is released",
		"a version to come":   "zklock-sealed 2 another name and more",
		"a marker alone":      "zklock-sealed",
		"Curator, an address": "127.0.0.1",
		"zk.Lock":             "",
	} {
		tests = append(tests, serverTest{name, func(t *testing.T, at harness.Endpoint) { behindTicketWith(t, at, data) }})
	}
	atOnce(t, endpoint(t), tests)
}

func behindTicketWith(t *testing.T, at harness.Endpoint, data string) {
	see, c := raw(t, at), dial(t, at, zklock.ClientOptions{Name: "the one behind"})
	m := c.Mutex(newPath(), zklock.Options{})
	unlock(t, lock(t, m)) // makes the parents
	head := createNode(t, see, m.Path()+"/_c_another-lock-", []byte(data), zk.FlagEphemeralSequential)
	next := waiting(t, t.Context(), m, see, 2)
	setData(t, see, head, []byte(data))
	if !strings.HasPrefix(data, "zklock-sealed 1 ") {
		expectWaiting(t, next)
		deleteNode(t, see, head)
	}
	l := awaitLease(t, next)
	if data, _, err := see.Get(zklock.Node(l)); err != nil || !strings.HasSuffix(string(data), " the one behind") {
		t.Errorf("the ticket has %q, %v, want the name of its client", data, err)
	}
	unlock(t, l)
}
