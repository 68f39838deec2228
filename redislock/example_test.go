package redislock_test

import (
	"context"
	"fmt"
	"io"
	"log"
	"os"
	"testing"

	"github.com/redis/go-redis/v9"

	"locklab/redislock"
)

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

// printed returns the short output of f. No other test may run concurrently.
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
