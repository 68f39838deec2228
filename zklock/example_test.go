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
	client := connect(ctx)
	defer client.Close()

	m := client.Mutex("/locklab/example", zklock.Options{})
	lease := must(m.TryLock(ctx))
	_, err := m.TryLock(ctx)
	fmt.Println("again:", errors.Is(err, zklock.ErrNotAcquired))
	fmt.Println("unlocked:", lease.Unlock(ctx) == nil)
	fmt.Println("why it ended:", lease.Err())
}

func ExampleClient_Cohort() {
	ctx := context.Background()
	client := connect(ctx)
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
	if at.Username != "" || at.TLS != nil {
		t.Skip("the examples connect without credentials, which the server at hand wants")
	}
	servers = at.Addrs[0]
	see := raw(t, at)
	for _, e := range examples {
		if have := printed(t, e.run); have != e.want {
			t.Errorf("Example%s printed %q, want %q", e.name, have, e.want)
		}
		for _, path := range []string{"/3", "/7", "/locks", "/leases", ""} {
			see.Delete("/locklab/example"+path, -1)
		}
	}
}

func printed(t *testing.T, f func()) string {
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
