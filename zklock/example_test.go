package zklock_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"locklab/zklock"
)

// Set by TestExamples; a program has them from Dial, see the example of the package.
var (
	ctx     = context.Background()
	servers = []string{"127.0.0.1:2181"}
	client  *zklock.Client
)

func Example() {
	ctx := context.Background()
	client, err := zklock.Dial(ctx, servers, zklock.ClientOptions{})
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()

	m := client.Mutex("/locklab/example", zklock.Options{})
	err = zklock.Do(ctx, m, func(ctx context.Context, lease *zklock.Lease) error {
		fmt.Println("alone; the resource can check the token:", lease.Token() > 0)
		return ctx.Err() // ctx ends if the lock is lost
	})
	if err != nil {
		log.Fatal(err)
	}
}

func ExampleMutex_TryLock() {
	m := client.Mutex("/locklab/example", zklock.Options{})
	lease := must(m.TryLock(ctx))
	_, err := m.TryLock(ctx)
	fmt.Println("again:", errors.Is(err, zklock.ErrNotAcquired))
	fmt.Println("unlocked:", lease.Unlock(ctx) == nil)
	fmt.Println("why it ended:", lease.Err())
}

func ExampleClient_Cohort() {
	k := client.Cohort("/locklab/example", zklock.CohortOptions{Handovers: 10})
	total := 0
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() {
			err := zklock.Do(ctx, k, func(context.Context, *zklock.Lease) error { total++; return nil })
			if err != nil {
				log.Print(err)
			}
		})
	}
	wg.Wait()
	fmt.Println("acquisitions:", total)
}

// TestExamples runs alone: examples share one path and the standard output.
func TestExamples(t *testing.T) {
	at := endpoint(t)
	if at.Username != "" || at.TLS != nil {
		t.Skip("the examples connect without credentials, which the server at hand wants")
	}
	servers, client = at.Addrs[0], dialServer(t, at, zklock.ClientOptions{})
	see := dialRaw(t, at)
	for _, e := range examples {
		if have := captureOutput(t, e.run); have != e.want {
			t.Errorf("Example%s printed %q, want %q", e.name, have, e.want)
		}
		for _, path := range []string{"/3", "/7", "/locks", "/leases", ""} {
			see.Delete("/locklab/example"+path, -1)
		}
	}
}

func captureOutput(t *testing.T, f func()) string {
	t.Helper()
	r, w, err := os.Pipe()
	requireNoError(t, err)
	defer r.Close()
	old := os.Stdout
	os.Stdout = w
	f()
	os.Stdout = old
	w.Close()
	out, err := io.ReadAll(r)
	requireNoError(t, err)
	return string(out)
}

func must[T any](v T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return v
}

func ExampleReentrant() {
	m := client.Reentrant("/locklab/example", zklock.Options{})

	owner := m.Owner() // of one request, say
	outer := must(owner.Lock(ctx))
	inner := must(owner.Lock(ctx)) // somewhere deeper, at no cost
	fmt.Println("one acquisition:", inner.Token() == outer.Token())

	_, err := m.Owner().TryLock(ctx)
	fmt.Println("another owner:", err)

	outer.Unlock(ctx)
	fmt.Println("to unlock:", owner.Count(), "and still held:", inner.Err() == nil)
	inner.Unlock(ctx)
}

func ExampleRWMutex() {
	m := client.RWMutex("/locklab/example", zklock.Options{})

	a, b := must(m.RLock(ctx)), must(m.TryRLock(ctx)) // readers share
	_, err := m.TryLock(ctx)
	fmt.Println("a writer beside them:", errors.Is(err, zklock.ErrNotAcquired))
	a.Unlock(ctx)
	b.Unlock(ctx)

	err = zklock.Do(ctx, m.RLocker(), func(ctx context.Context, lease *zklock.Lease) error {
		return ctx.Err() // read here
	})
	fmt.Println("read:", err == nil)
}

func ExampleRWMutexOwner() {
	owner := client.RWMutex("/locklab/example", zklock.Options{}).Owner()

	write := must(owner.Lock(ctx))
	read := must(owner.RLock(ctx)) // no other can write between the two
	write.Unlock(ctx)
	_, err := owner.Lock(ctx)
	fmt.Println("and back:", errors.Is(err, zklock.ErrUpgrade))
	fmt.Println("read what it wrote:", read.Unlock(ctx) == nil)
}

func ExampleSemaphore() {
	s := client.Semaphore("/locklab/example", 2, zklock.Options{})

	a, b := must(s.Lock(ctx)), must(s.Lock(ctx))
	_, err := s.TryLock(ctx)
	fmt.Println("a third:", errors.Is(err, zklock.ErrNotAcquired))
	b.Unlock(ctx)
	c := must(s.TryLock(ctx))
	fmt.Println("after one has left:", a.Unlock(ctx) == nil, c.Unlock(ctx) == nil)
}

func ExampleMutex_Lock() {
	m := client.Mutex("/locklab/example", zklock.Options{})

	soon, cancel := context.WithTimeout(ctx, 5*time.Second) // bounds the wait, not the hold
	defer cancel()
	lease, err := m.Lock(soon)
	if err != nil {
		log.Fatal(err) // errors.Is(err, context.DeadlineExceeded) after five seconds
	}
	defer lease.Unlock(ctx)
	select {
	case <-lease.Done():
		fmt.Println("stop, another client may have the lock:", lease.Err())
	default:
		fmt.Println("held, with a token for the resource:", lease.Token() > 0)
	}
}

func ExampleMutex_Holders() {
	client := must(zklock.Dial(ctx, servers, zklock.ClientOptions{Name: "reindexer on host 7"}))
	defer client.Close()
	m := client.Mutex("/locklab/example", zklock.Options{})
	lease := must(m.Lock(ctx))
	defer lease.Unlock(ctx)

	for _, holder := range must(m.Holders(ctx)) { // by any client
		fmt.Println(holder.Name, "has it:", holder.Token == lease.Token())
	}
	fmt.Println("waiters:", len(must(m.Waiters(ctx))))
}

func ExampleLease_IsOwner() {
	conn, _, err := zk.Connect(servers, 10*time.Second, zk.WithLogger(log.New(io.Discard, "", 0)))
	if err != nil {
		log.Fatal(err)
	}
	defer conn.Close()

	lease := must(client.Mutex("/locklab/example", zklock.Options{Checkable: true}).Lock(ctx))
	write := &zk.SetDataRequest{Path: "/locklab", Data: []byte("state"), Version: -1}
	ops := append(must(lease.IsOwner()), write)
	_, err = conn.Multi(ops...)
	fmt.Println("while it is held:", err)

	lease.Unlock(ctx)
	_, err = conn.Multi(ops...)
	fmt.Println("after that:", err)
}

func ExampleMulti() {
	accounts := client.Multi([]string{"/locklab/example/7", "/locklab/example/3"}, zklock.MultiOptions{})
	fmt.Println(accounts.Paths())
	err := zklock.Do(ctx, accounts, func(ctx context.Context, lease *zklock.Lease) error {
		if lease.TokenOf("/locklab/example/7") == 0 {
			return errors.New("no token")
		}
		return ctx.Err() // move money here; ctx ends if either lock is lost
	})
	fmt.Println(err)
}

func ExampleElect() {
	leader := client.Mutex("/locklab/example", zklock.Options{})
	err := zklock.Elect(ctx, leader, func(ctx context.Context, lease *zklock.Lease) error {
		fmt.Println("leads until the work is done, or until ctx ends:", lease.Err() == nil)
		return ctx.Err()
	})
	fmt.Println(err)
}

var examples = []struct {
	name string
	run  func()
	want string
}{
	{"", Example, "alone; the resource can check the token: true\n"},
	{"Client_Cohort", ExampleClient_Cohort, "acquisitions: 50\n"},
	{"Mutex_TryLock", ExampleMutex_TryLock, "again: true\nunlocked: true\nwhy it ended: zklock: lock released\n"},
	{"Reentrant", ExampleReentrant, "one acquisition: true\nanother owner: zklock: lock not acquired: lock /locklab/example: another has it or waits for it\nto unlock: 1 and still held: true\n"},
	{"RWMutex", ExampleRWMutex, "a writer beside them: true\nread: true\n"},
	{"RWMutexOwner", ExampleRWMutexOwner, "and back: true\nread what it wrote: true\n"},
	{"Semaphore", ExampleSemaphore, "a third: true\nafter one has left: true true\n"},
	{"Mutex_Lock", ExampleMutex_Lock, "held, with a token for the resource: true\n"},
	{"Mutex_Holders", ExampleMutex_Holders, "reindexer on host 7 has it: true\nwaiters: 0\n"},
	{"Lease_IsOwner", ExampleLease_IsOwner, "while it is held: <nil>\nafter that: zk: node does not exist\n"},
	{"Elect", ExampleElect, "leads until the work is done, or until ctx ends: true\n<nil>\n"},
	{"Multi", ExampleMulti, "[/locklab/example/3 /locklab/example/7]\n<nil>\n"},
}
