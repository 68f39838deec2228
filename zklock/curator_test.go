package zklock_test

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"locklab/harness"
	"locklab/internal/backend"
	"locklab/internal/leaktest"
	"locklab/zklock"
)

// TestCurator contends with Curator on the same paths, and revokes locks in both directions.
func TestCurator(t *testing.T) {
	t.Parallel()
	at := endpoint(t)
	program, classPath := findCurator(t)
	if at.Username != "" || at.TLS != nil {
		t.Skip("Curator connects without credentials, which the server at hand wants")
	}
	leaktest.Own(t)
	shared := &sharedFiles{t: t, dir: t.TempDir()}
	shared.prepare()
	path := newPath()
	const acquisitions = 40 // for each of its two threads
	cmd := exec.CommandContext(t.Context(), program, "-Xmx256m", "-cp", classPath, "testdata/Interop.java",
		at.Addrs[0][0], path, shared.dir, strconv.Itoa(acquisitions))
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait()
	defer cmd.Process.Kill()
	says := bufio.NewScanner(out)
	expect(t, says, "READY")
	var wg sync.WaitGroup
	defer wg.Wait()
	var over atomic.Bool
	defer over.Store(true)
	for i := range 2 {
		c := dial(t, at, zklock.ClientOptions{})
		for _, contend := range []func(*zklock.Client, string, int, int){shared.mutex, shared.readWrite, shared.semaphore} {
			wg.Go(func() {
				for k := 0; !over.Load(); k++ {
					contend(c, path, i, k)
				}
			})
		}
	}
	expect(t, says, "DONE 0") // violations that Curator saw
	over.Store(true)
	wg.Wait()
	shared.check(2*acquisitions, (acquisitions+2)/3+(acquisitions+1)/3)
	revokeWithCurator(t, at, path+"/revoke", says, in)
}

func findCurator(t *testing.T) (program, classPath string) {
	missing := func(format string, args ...any) {
		t.Helper()
		why := fmt.Sprintf(format, args...)
		if backend.Required("java") {
			t.Fatal(why)
		}
		t.Skip(why)
	}
	program, err := exec.LookPath("java")
	if err != nil {
		missing("no java, which Curator runs on")
	}
	real, err := filepath.EvalSymlinks(program)
	if err == nil {
		_, err = os.Stat(filepath.Join(filepath.Dir(real), "javac"))
	}
	if err != nil {
		missing("%s has no compiler beside it, which starts Curator from source: install a JDK", program)
	}
	jar := "/usr/share/java/curator-recipes.jar"
	classPath = cmp.Or(os.Getenv("LOCKLAB_CURATOR"), jar+":/usr/share/java/slf4j-nop.jar")
	if _, err := os.Stat(strings.Split(classPath, ":")[0]); err != nil {
		missing("no %s: install libcurator-recipes-java, or name Curator's jars in LOCKLAB_CURATOR=a.jar:b.jar", jar)
	}
	return program, classPath
}

func expect(t *testing.T, says *bufio.Scanner, want string) {
	t.Helper()
	if !says.Scan() || says.Text() != want {
		t.Fatalf("Curator's side says %q, %v, want %q", says.Text(), says.Err(), want)
	}
}

type sharedFiles struct {
	t           *testing.T
	dir         string
	mutexed, rw atomic.Int64 // writes of this side
	torn, crowd atomic.Int64 // violations
}

func (r *sharedFiles) prepare() {
	for _, name := range []string{"mutex", "rw"} {
		r.write(name, 0)
	}
	if err := os.Mkdir(filepath.Join(r.dir, "holders"), 0o700); err != nil {
		r.t.Fatal(err)
	}
}

func (r *sharedFiles) read(name string) int {
	text, err := os.ReadFile(filepath.Join(r.dir, name))
	if err != nil {
		r.t.Error(err)
	}
	n, _ := strconv.Atoi(string(text)) // a file that is being written is empty: wrong too
	return n
}

func (r *sharedFiles) write(name string, n int) {
	if err := os.WriteFile(filepath.Join(r.dir, name), []byte(strconv.Itoa(n)), 0o600); err != nil {
		r.t.Error(err)
	}
}

func (r *sharedFiles) increment(name string) {
	n := r.read(name)
	time.Sleep(time.Millisecond)
	r.write(name, n+1)
}

func (r *sharedFiles) mutex(c *zklock.Client, path string, _, _ int) {
	l := grab(r.t, c.Reentrant(path+"/mutex", zklock.ReentrantOptions{}).Owner().Lock)
	r.increment("mutex")
	r.mutexed.Add(1)
	unlock(r.t, l)
}

func (r *sharedFiles) readWrite(c *zklock.Client, path string, i, k int) {
	o := c.RWMutex(path+"/rw", zklock.Options{}).Owner()
	var write *zklock.Lease
	if (k+i)%3 == 0 {
		write = grab(r.t, o.Lock)
		r.increment("rw")
		r.rw.Add(1)
	}
	read := grab(r.t, o.RLock)
	if write != nil {
		unlock(r.t, write)
	}
	n := r.read("rw")
	time.Sleep(2 * time.Millisecond)
	if r.read("rw") != n {
		r.torn.Add(1)
	}
	unlock(r.t, read)
}

func (r *sharedFiles) semaphore(c *zklock.Client, path string, i, _ int) {
	l := grab(r.t, c.SemaphoreV2(path+"/semaphore", 2, zklock.Options{}).Lock)
	defer unlock(r.t, l)
	mine := "holders/go" + strconv.Itoa(i)
	r.write(mine, 0)
	time.Sleep(2 * time.Millisecond)
	if all, err := os.ReadDir(filepath.Join(r.dir, "holders")); err != nil || len(all) > 2 {
		r.crowd.Add(1)
	}
	if err := os.Remove(filepath.Join(r.dir, mine)); err != nil {
		r.t.Error(err)
	}
}

func (r *sharedFiles) check(mutexed, rw int) {
	r.t.Logf("Curator wrote %d and %d times, this side %d and %d times", mutexed, rw, r.mutexed.Load(), r.rw.Load())
	if have, want := r.read("mutex"), mutexed+int(r.mutexed.Load()); have != want {
		r.t.Errorf("mutex: %d updates are left of %d", have, want)
	}
	if have, want := r.read("rw"), rw+int(r.rw.Load()); have != want {
		r.t.Errorf("read-write lock: %d updates are left of %d", have, want)
	}
	if r.torn.Load() > 0 || r.crowd.Load() > 0 {
		r.t.Errorf("%d torn reads, %d times too many in the semaphore", r.torn.Load(), r.crowd.Load())
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
	if err := c.Revoke(t.Context(), line[0]); err != nil {
		t.Fatal(err)
	}
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
