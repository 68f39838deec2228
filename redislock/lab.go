package redislock

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"locklab/harness"
	wireredis "locklab/internal/wire/redis"
)

// A locker is a lock of this package as the laboratory uses it.
type locker interface {
	Lock(ctx context.Context) (*Lease, error)
	TryLock(ctx context.Context) (*Lease, error)
}

// labPrefix begins the names of all locks of the laboratory.
const labPrefix = "locklab:"

// remote returns the constructor of a Variant whose lock is made by lock.
func remote(lock func(c *Client, name string, o Options) locker) func(context.Context, harness.Endpoint, string) (harness.Remote, error) {
	return func(ctx context.Context, at harness.Endpoint, key string) (harness.Remote, error) {
		l, err := dialLab(ctx, at)
		if err != nil {
			return nil, err
		}
		l.name = labPrefix + "{" + key + "}"
		l.lock = lock(l.c, l.name, Options{TTL: at.Lease})
		return l, nil
	}
}

// labClient adapts a Client and one lock to the laboratory.
type labClient struct {
	counters [2]*wireredis.Counter
	rdb      *redis.Client
	c        *Client
	name     string
	lock     locker
}

var (
	_ harness.Remote  = (*labClient)(nil)
	_ harness.Counter = (*labClient)(nil)
)

// dialLab connects to the server and asks whether it is there.
func dialLab(ctx context.Context, at harness.Endpoint) (*labClient, error) {
	r := new(labClient)
	rdb, counter, err := wireredis.Connect(at)
	if err != nil {
		return nil, fmt.Errorf("redislock: %w", err)
	}
	blocking, counter2, err := wireredis.Connect(at, func(o *redis.Options) { o.PoolSize = manyConnections })
	if err != nil {
		return nil, fmt.Errorf("redislock: %w", err)
	}
	r.rdb, r.counters = rdb, [2]*wireredis.Counter{counter, counter2}
	r.c = NewClient(rdb, ClientOptions{Blocking: blocking})
	if err := rdb.Ping(ctx).Err(); err != nil {
		r.c.Close()
		rdb.Close()
		return nil, fmt.Errorf("redislock: %w: %s: %w", harness.ErrUnavailable, at.Addrs[0][0], err)
	}
	return r, nil
}

// Counts returns the commands sent and the messages received.
func (r *labClient) Counts() (total harness.Counts) {
	for _, c := range r.counters {
		total = total.Add(c.Counts())
	}
	if s, ok := r.lock.(subscriber); ok {
		total = total.Add(s.traffic())
	}
	return total
}

// A subscriber is a lock that subscribes: go-redis does not show that traffic to
// the hooks of a client.
type subscriber interface{ traffic() harness.Counts }

// An owned lock has owners, one for each worker.
type owned interface{ session() locker }

func (r *labClient) Join(context.Context, int) (harness.Session, error) {
	switch m := r.lock.(type) {
	case *RWMutex:
		return labReader{labSession{m}, m}, nil
	case owned:
		return labSession{m.session()}, nil
	}
	return labSession{r.lock}, nil
}

// labTokens is how long a counter of tokens stays after a client of the
// laboratory has left. For a lock in earnest it stays for ever.
const labTokens = time.Hour

// Close waits for what Lock and Unlock may have left to do, and disconnects.
func (r *labClient) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), unlockWait)
	defer cancel()
	_ = r.rdb.PExpire(ctx, companion(r.name, "token"), labTokens).Err() // if there is one
	done := make(chan error, 1)
	go func() { done <- r.c.Close() }()
	timer := time.NewTimer(unlockWait)
	defer timer.Stop()
	select {
	case err := <-done:
		return errors.Join(err, r.rdb.Close())
	case <-timer.C:
		err := r.rdb.Close()
		return errors.Join(<-done, err)
	}
}

// labSession is one worker. Workers of a client share everything.
type labSession struct{ lock locker }

var _ harness.TrySession = labSession{}

func (s labSession) Lock(ctx context.Context) (harness.Lease, error) {
	return leaseOf(s.lock.Lock(ctx))
}

func (s labSession) TryLock(ctx context.Context) (harness.Lease, error) {
	return leaseOf(s.lock.TryLock(ctx))
}

func (labSession) Close() error { return nil }

// labReader is one worker of a lock that readers share.
type labReader struct {
	labSession
	rw *RWMutex
}

var _ harness.RWSession = labReader{}

func (s labReader) RLock(ctx context.Context) (harness.Lease, error) {
	return leaseOf(s.rw.RLock(ctx))
}

// leaseOf keeps a nil *Lease from becoming a Lease that is not nil.
func leaseOf(l *Lease, err error) (harness.Lease, error) {
	if err != nil {
		return nil, err
	}
	return l, nil
}
