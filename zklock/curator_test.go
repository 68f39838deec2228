package zklock_test

import (
	"bufio"
	"cmp"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

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
