package zklock_test

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"locklab/harness"
	"locklab/internal/backend"
	"locklab/internal/leaktest"
	"locklab/peers"
	"locklab/zklock"
)

// TestCurator shares the permits of a semaphore with Curator, and revokes locks in both directions.
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
	in, err := cmd.StdinPipe()
	requireNoError(t, err)
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
	revokeWithCurator(t, at, path+"/revoke", says, in)
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

func revokeWithCurator(t *testing.T, at harness.Endpoint, path string, says *bufio.Scanner, in io.Writer) {
	expect(t, says, "HELD")
	c := dial(t, at, zklock.ClientOptions{})
	asked := make(chan struct{}, 1)
	m := c.Reentrant(path, zklock.ReentrantOptions{OnRevoke: func(*zklock.Owner) { asked <- struct{}{} }})
	line, err := m.Participants(t.Context())
	if err != nil || len(line) != 1 {
		t.Fatalf("Participants = %q, %v, want Curator's ticket", line, err)
	}
	requireNoError(t, c.Revoke(t.Context(), line[0]))
	expect(t, says, "REVOKED")
	err = zklock.Do(t.Context(), m.Owner(), func(context.Context, *zklock.Lease) error {
		fmt.Fprintln(in, "I hold")
		select {
		case <-asked:
		case <-time.After(patience):
			t.Error("not asked")
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	fmt.Fprintln(in, "I have heard")
}
