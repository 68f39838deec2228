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

	"locklab/harness"
	"locklab/internal/leaktest"
	"locklab/zklock"
)

var servers = []string{"127.0.0.1:2181"}

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
	ctx := context.Background()
	client, err := zklock.Dial(ctx, servers, zklock.ClientOptions{})
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()

	m := client.Mutex("/locklab/example", zklock.Options{})
	lease, err := m.TryLock(ctx)
	if err != nil {
		log.Fatal(err)
	}
	_, err = m.TryLock(ctx)
	fmt.Println("again:", errors.Is(err, zklock.ErrNotAcquired))
	fmt.Println("unlocked:", lease.Unlock(ctx) == nil)
	fmt.Println("why it ended:", lease.Err())
}

func ExampleClient_Cohort() {
	ctx := context.Background()
	client, err := zklock.Dial(ctx, servers, zklock.ClientOptions{})
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()

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
	leaktest.Own(t)
	examples(t, at)
	kindExamples(t, at)
}

func examples(t *testing.T, at harness.Endpoint) {
	if at.Username != "" || at.TLS != nil {
		t.Skip("the examples connect without credentials, which the server at hand wants")
	}
	servers = at.Addrs[0]
	see := raw(t, at)
	defer see.Delete("/locklab/example", -1)
	if got, want := printed(t, Example), "alone; the resource can check the token: true\n"; got != want {
		t.Errorf("Example printed %q, want %q", got, want)
	}
	if got, want := printed(t, ExampleClient_Cohort), "acquisitions: 50\n"; got != want {
		t.Errorf("ExampleClient_Cohort printed %q, want %q", got, want)
	}
	want := "again: true\nunlocked: true\nwhy it ended: zklock: lock released\n"
	if got := printed(t, ExampleMutex_TryLock); got != want {
		t.Errorf("ExampleMutex_TryLock printed %q, want %q", got, want)
	}
}

func printed(t *testing.T, f func()) string {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	old := os.Stdout
	os.Stdout = w
	f()
	os.Stdout = old
	w.Close()
	out, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

func doEnds(t *testing.T, at harness.Endpoint) {
	c := dial(t, at, zklock.ClientOptions{})
	m := c.Mutex(newPath(), zklock.Options{})
	boom := errors.New("boom")
	err := zklock.Do(t.Context(), m, func(ctx context.Context, l *zklock.Lease) error {
		go c.Close()
		<-ctx.Done()
		if cause := context.Cause(ctx); !errors.Is(cause, zklock.ErrLost) {
			t.Errorf("cause %v, want ErrLost", cause)
		}
		return boom
	})
	if !errors.Is(err, boom) || !errors.Is(err, zklock.ErrNotHeld) {
		t.Errorf("Do = %v, want both boom and ErrNotHeld", err)
	}
}

func locker(t *testing.T, at harness.Endpoint) {
	see := raw(t, at)
	path := newPath()
	k := zklock.Locker(dial(t, at, zklock.ClientOptions{}).Mutex(path, zklock.Options{}))
	for range 2 {
		k.Lock()
		if len(queue(t, see, path)) != 1 {
			t.Error("Lock does not lock")
		}
		k.Unlock()
	}
	defer func() {
		if recover() == nil {
			t.Error("Unlock of a lock that is not held does not panic")
		}
	}()
	k.Unlock()
}
