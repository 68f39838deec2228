package redislock_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"locklab/harness"
	"locklab/harness/locktest"
	locks "locklab/lock"
	"locklab/redislock"
)

var (
	address   = "127.0.0.1:6379"
	addresses = []string{"redis-1:6379", "redis-2:6379", "redis-3:6379"}
)

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

func connectClient(addr string, o redislock.ClientOptions) (locks *redislock.Client, disconnect func()) {
	client := redis.NewClient(&redis.Options{Addr: addr, ContextTimeoutEnabled: true})
	locks = redislock.NewClient(client, o)
	return locks, func() { locks.Close(); client.Close() }
}

func checkError(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func ExampleMutex_TryLock() {
	locks, disconnect := connectClient(address, redislock.ClientOptions{})
	defer disconnect()
	ctx := context.Background()

	m := locks.Mutex("locklab:{example}", redislock.Options{})
	lease, err := m.TryLock(ctx)
	checkError(err) // wraps ErrNotAcquired if another client holds the lock
	fmt.Println("held:", lease.Err() == nil)
	fmt.Println("unlocked:", lease.Unlock(ctx) == nil)
	fmt.Println("why it ended:", lease.Err())
}

// A leader works until it has lost the lock, or until it must stop.
func ExampleLease_Done() {
	locks, disconnect := connectClient(address, redislock.ClientOptions{})
	defer disconnect()
	ctx := context.Background()

	m := locks.Mutex("locklab:{example}", redislock.Options{TTL: 5 * time.Second})
	lease, err := m.Lock(ctx) // waits until the previous leader is gone
	checkError(err)
	work := time.NewTicker(time.Millisecond)
	defer work.Stop()
	for n := 0; ; n++ {
		select {
		case <-lease.Done():
			fmt.Println("no longer the leader:", errors.Is(lease.Err(), redislock.ErrLost))
			fmt.Println("nothing to unlock:", errors.Is(lease.Unlock(ctx), redislock.ErrNotHeld))
			return
		case <-work.C:
			if n == 3 { // a fault
				m.ForceUnlock(ctx)
			}
		}
	}
}

func ExampleWithTrace() {
	client, disconnect := connectClient(address, redislock.ClientOptions{})
	defer disconnect()

	ctx := redislock.WithTrace(context.Background(), &redislock.Trace{
		Queued:   func(e locks.QueuedInfo) { fmt.Println("behind", e.Ahead, "others") },
		Granted:  func(e locks.GrantedInfo) { fmt.Println("granted, with a token:", e.Token > 0) },
		Released: func(e locks.ReleasedInfo) { fmt.Println("released in less than an hour:", e.Held < time.Hour) },
		Lost:     func(e locks.LostInfo) { fmt.Println("lost:", e.Err) },
	})
	m := client.Mutex("locklab:{example}", redislock.Options{})
	err := redislock.Do(ctx, m, func(context.Context, *redislock.Lease) error { return nil })
	checkError(err)
}

func ExampleRWMutex() {
	locks, disconnect := connectClient(address, redislock.ClientOptions{})
	defer disconnect()
	ctx := context.Background()

	m := locks.RWMutex("locklab:{example}", redislock.Options{})
	one, err := m.RLock(ctx)
	checkError(err)
	two, err := m.RLock(ctx)
	checkError(err)
	_, err = m.TryLock(ctx)
	fmt.Println("two readers, no writer:", errors.Is(err, redislock.ErrNotAcquired))
	fmt.Println(one.Unlock(ctx), two.Unlock(ctx))
	err = redislock.Do(ctx, m, func(context.Context, *redislock.Lease) error {
		fmt.Println("one writer")
		return nil
	})
	checkError(err)
}

func ExampleSemaphore() {
	locks, disconnect := connectClient(address, redislock.ClientOptions{})
	defer disconnect()

	// At most two reports at once. A crashed process's permit is free when its lease is over.
	s := locks.Semaphore("locklab:{example}", 2, redislock.Options{})
	err := redislock.Do(context.Background(), s, func(ctx context.Context, permit *redislock.Lease) error {
		fmt.Println("one of two")
		return nil
	})
	checkError(err)
}

func ExampleCohort() {
	locks, disconnect := connectClient(address, redislock.ClientOptions{})
	defer disconnect()

	// For many goroutines of a process: up to 17 have the lock in a row before another process.
	m := locks.Cohort("locklab:{example}", redislock.CohortOptions{Handovers: 16})
	err := redislock.Do(context.Background(), m, func(context.Context, *redislock.Lease) error {
		fmt.Println("alone")
		return nil
	})
	checkError(err)
}

func ExampleMulti() {
	locks, disconnect := connectClient(address, redislock.ClientOptions{})
	defer disconnect()

	// A transfer locks both accounts in the order of their names, so there is no deadlock.
	from, to := "locklab:{example-7}", "locklab:{example-3}"
	m := locks.Multi([]string{from, to}, redislock.Options{})
	err := redislock.Do(context.Background(), m, func(ctx context.Context, l *redislock.Lease) error {
		fmt.Println("both, each with a token:", l.TokenOf(from) > 0 && l.TokenOf(to) > 0)
		return nil
	})
	checkError(err)
}

func ExampleElect() {
	locks, disconnect := connectClient(address, redislock.ClientOptions{})
	defer disconnect()

	// Every process does this; one of them leads. MaxHold replaces a leader that is stuck.
	ctx, stop := context.WithCancel(context.Background())
	m := locks.Mutex("locklab:{example}", redislock.Options{MaxHold: time.Hour})
	err := redislock.Elect(ctx, m, func(ctx context.Context, l *redislock.Lease) error {
		fmt.Println("leading")
		stop()       // as by a signal that ends the process
		<-ctx.Done() // or it is no longer the leader
		return nil
	})
	fmt.Println(err)
}

func ExampleNewRedlock() {
	var clients []*redislock.Client
	for _, addr := range addresses { // three or five servers without replication between them
		locks, disconnect := connectClient(addr, redislock.ClientOptions{})
		defer disconnect()
		clients = append(clients, locks)
	}
	m := redislock.NewRedlock(clients, "locklab:{example-servers}", redislock.RedlockOptions{})
	err := redislock.Do(context.Background(), m, func(context.Context, *redislock.Lease) error {
		fmt.Println("alone, on most of the servers")
		return nil
	})
	checkError(err)
}

// A dashboard shows the holders and waiters of a lock.
func ExampleMutex_Holders() {
	locks, disconnect := connectClient(address, redislock.ClientOptions{Name: "billing-7"})
	defer disconnect()
	ctx := context.Background()

	m := locks.Mutex("locklab:{example}", redislock.Options{})
	lease, err := m.Lock(ctx)
	checkError(err)
	defer lease.Unlock(ctx)
	holders, err := m.Holders(ctx)
	checkError(err)
	waiters, err := m.Waiters(ctx)
	checkError(err)
	for _, h := range holders {
		fmt.Println("held by", h.Name, "since a minute or less:", time.Since(h.Since) < time.Minute)
	}
	fmt.Println("waiting:", len(waiters))
}

// An operator takes the lock away from a holder that is known to be dead.
func ExampleMutex_ForceUnlock() {
	locks, disconnect := connectClient(address, redislock.ClientOptions{Name: "operator"})
	defer disconnect()
	ctx := context.Background()

	m := locks.Mutex("locklab:{example}", redislock.Options{})
	lease, err := m.Lock(ctx) // a holder that does not return
	checkError(err)
	freed, err := m.ForceUnlock(ctx)
	checkError(err)
	fmt.Println("freed:", freed)
	// A holder that is alive after all finds that it has lost the lock.
	fmt.Println("told:", errors.Is(lease.Unlock(ctx), redislock.ErrNotHeld))
}

func ExampleReentrant() {
	locks, disconnect := connectClient(address, redislock.ClientOptions{})
	defer disconnect()
	ctx := context.Background()

	// The same lock as redisson.getLock("locklab:{example}") of a Java service.
	m := locks.Reentrant("locklab:{example}", redislock.Options{})
	o := m.Owner() // pass it to everything that works for this owner
	step := func(ctx context.Context) error {
		return redislock.Do(ctx, o, func(context.Context, *redislock.Lease) error {
			fmt.Println("a step, alone")
			return nil
		})
	}
	err := redislock.Do(ctx, o, func(ctx context.Context, _ *redislock.Lease) error {
		if err := step(ctx); err != nil {
			return err
		}
		return step(ctx)
	})
	checkError(err)
}

// TestExamples runs alone: examples share one address and the standard output.
func TestExamples(t *testing.T) {
	at := locktest.Endpoints(t, harness.KindRedis, 3)
	if at.Username != "" || at.Password != "" || at.TLS != nil {
		t.Skip("the examples connect without credentials, which the server at hand wants")
	}
	address = at.Addrs[0][0]
	addresses = nil
	for _, one := range at.Addrs {
		addresses = append(addresses, one[0])
	}
	for _, e := range []struct {
		name    string
		example func()
		want    string
	}{
		{"do", Example, "alone\n"},
		{"try", ExampleMutex_TryLock, "held: true\nunlocked: true\nwhy it ended: redislock: lock released\n"},
		{"reentrant", ExampleReentrant, "a step, alone\na step, alone\n"},
		{"leader", ExampleLease_Done, "no longer the leader: true\nnothing to unlock: true\n"},
		{"trace", ExampleWithTrace, "granted, with a token: true\nreleased in less than an hour: true\n"},
		{"rw", ExampleRWMutex, "two readers, no writer: true\n<nil> <nil>\none writer\n"},
		{"semaphore", ExampleSemaphore, "one of two\n"},
		{"cohort", ExampleCohort, "alone\n"},
		{"multi", ExampleMulti, "both, each with a token: true\n"},
		{"elect", ExampleElect, "leading\ncontext canceled\n"},
		{"redlock", ExampleNewRedlock, "alone, on most of the servers\n"},
		{"holders", ExampleMutex_Holders, "held by billing-7 since a minute or less: true\nwaiting: 0\n"},
		{"force", ExampleMutex_ForceUnlock, "freed: true\ntold: true\n"},
	} {
		t.Run(e.name, func(t *testing.T) {
			if got := captureOutput(t, e.example); got != e.want {
				t.Errorf("printed\n%swant\n%s", got, e.want)
			}
		})
	}
}

// captureOutput returns the short output of f. No other test may run concurrently.
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
