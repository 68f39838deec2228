package redislock_test

import (
	"context"
	"fmt"
	"io"
	"log"
	"os"
	"testing"

	"github.com/redis/go-redis/v9"

	"locklab/harness"
	"locklab/redislock"
)

// address is where the examples look for Redis.
var address = "127.0.0.1:6379"

func Example() {
	client := redis.NewClient(&redis.Options{Addr: address, ContextTimeoutEnabled: true})
	defer client.Close()

	locks := redislock.NewClient(client, redislock.ClientOptions{})
	defer locks.Close()

	m := locks.Mutex("locklab:{example}", redislock.Options{})
	err := redislock.Do(context.Background(), m, func(ctx context.Context, lease *redislock.Lease) error {
		fmt.Println("alone") // ctx ends if the lock is lost
		return ctx.Err()
	})
	if err != nil {
		log.Fatal(err)
	}
}

func ExampleMutex_TryLock() {
	client := redis.NewClient(&redis.Options{Addr: address, ContextTimeoutEnabled: true})
	defer client.Close()
	ctx := context.Background()

	locks := redislock.NewClient(client, redislock.ClientOptions{})
	defer locks.Close()

	m := locks.Mutex("locklab:{example}", redislock.Options{})
	lease, err := m.TryLock(ctx)
	if err != nil {
		log.Fatal(err) // wraps ErrNotAcquired if another client holds the lock
	}
	fmt.Println("held:", lease.Err() == nil)
	fmt.Println("unlocked:", lease.Unlock(ctx) == nil)
	fmt.Println("why it ended:", lease.Err())
}

// examples runs the examples against a real server.
func examples(t *testing.T, at harness.Endpoint) {
	if at.Username != "" || at.Password != "" || at.TLS != nil {
		t.Skip("the examples connect without credentials, which the server at hand wants")
	}
	address = at.Addrs[0][0]
	if got, want := printed(t, Example), "alone\n"; got != want {
		t.Errorf("Example printed %q, want %q", got, want)
	}
	want := "held: true\nunlocked: true\nwhy it ended: redislock: lock released\n"
	if got := printed(t, ExampleMutex_TryLock); got != want {
		t.Errorf("ExampleMutex_TryLock printed %q, want %q", got, want)
	}
}

// printed returns what f writes to the standard output, which is little.
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
