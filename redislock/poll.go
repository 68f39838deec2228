package redislock

import (
	"context"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"locklab/harness"
	"locklab/internal/wire"
)

// poll is the lock of the Redis documentation for one server: SET with NX and
// PX and a random value, deleted by a script that compares the value. Waiters
// ask again after a random pause.
//
//  1. Acquire: if the key is absent, set it to a nonce with a time to live. If
//     it carries the own nonce, a lost reply has hidden that; renew it.
//  2. Otherwise wait for half to one and a half poll intervals and go to 1.
//  3. Release: delete the key if it carries the own nonce.
//
// Two requests alone. Behind others the number of requests grows with the time
// of the wait, and the order of service is chance: the longer a waiter sleeps
// the more often others overtake it.
//
// # References
//
// Redis documentation, "Distributed Locks with Redis", section "Correct
// Implementation with a Single Instance".
// Redis documentation, SET, section "Patterns".
var poll = &harness.Variant{
	Name:   "redis-poll",
	Doc:    "key with a nonce and a time to live, waiters poll in no order",
	Paper:  "Redis documentation, Distributed Locks",
	Family: harness.Redis,
	Status: harness.Recommended,
	Traits: harness.Traits{Needs: harness.KindRedis},
	Remote: newLabClient,
}

// labClient adapts a client and one Mutex to the laboratory.
type labClient struct {
	*wire.Counter
	client *redis.Client
	m      *Mutex
}

var (
	_ harness.Remote  = (*labClient)(nil)
	_ harness.Counter = (*labClient)(nil)
)

// newLabClient connects to the server and asks whether it is there.
func newLabClient(ctx context.Context, at harness.Endpoint, key string) (harness.Remote, error) {
	client, counter, err := wire.Redis(at)
	if err != nil {
		return nil, fmt.Errorf("redislock: %w", err)
	}
	if err := client.Ping(ctx).Err(); err != nil {
		client.Close()
		return nil, fmt.Errorf("redislock: %w: %s: %w", harness.ErrUnavailable, at.Addrs[0][0], err)
	}
	m := New(client, "locklab:{"+key+"}", Options{Lease: at.Lease})
	return &labClient{counter, client, m}, nil
}

func (r *labClient) Join(context.Context, int) (harness.Session, error) { return labSession{r.m}, nil }

// Close waits for what Lock and Unlock may have left to do, and disconnects.
func (r *labClient) Close() error {
	done := make(chan struct{})
	go func() { r.m.work.Wait(); close(done) }()
	timer := time.NewTimer(unlockWait)
	defer timer.Stop()
	select {
	case <-done:
	case <-timer.C:
	}
	err := r.client.Close()
	<-done
	return err
}

// labSession is one worker. Workers of a client share everything.
type labSession struct{ m *Mutex }

var _ harness.TrySession = labSession{}

func (s labSession) Lock(ctx context.Context) (harness.Lease, error) {
	return leaseOf(s.m.Lock(ctx))
}

func (s labSession) TryLock(ctx context.Context) (harness.Lease, error) {
	return leaseOf(s.m.TryLock(ctx))
}

func (labSession) Close() error { return nil }

// leaseOf keeps a nil *Lease from becoming a Lease that is not nil.
func leaseOf(l *Lease, err error) (harness.Lease, error) {
	if err != nil {
		return nil, err
	}
	return l, nil
}
