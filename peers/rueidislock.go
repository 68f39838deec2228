package peers

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/redis/rueidis"
	"github.com/redis/rueidis/rueidislock"

	"locklab/harness"
	"locklab/internal/adapt"
)

// rueidisPush is rueidislock with its README's settings for one server: a script with SET, NX
// and PXAT and a random value, then GET. After that the server pushes an invalidation to all
// waiters when the key changes, and all of them ask again. It takes two commands alone; behind
// others about one for each waiter and turn.
//
// # Lost wake-ups
//
// A failed attempt hands the key over to a goroutine and counts the failure after that. If the
// goroutine reads the count first, it takes the attempt for a success that has ended, and
// removes the gate through which invalidations reach the waiter. The waiter then sleeps until
// its context ends, although the lock is free. (lock.go, function try: "go monitoring" comes
// before "failures".) TestRueidislockLosesWakeups shows it in some thousands of acquisitions.
// A lock that may never be granted cannot be recommended. We know of no report of this defect.
//
// # Additions of the adapter
//
//   - A context for the wait alone. The library uses one context for the wait and the hold:
//     its end would release the lock, and its deadline is the key's. A Lock whose context ends
//     withdraws as the library does.
//   - An answer of TryLock: each request of the library has a limit, TryNextAfter, and
//     TryWithContext returns context.DeadlineExceeded when the server takes longer. The
//     adapter tries again, as the library's WithContext does. With a server that always takes
//     longer neither returns.
//   - Counts of the sent scripts and of the invalidated keys.
//
// # Unchanged behaviour
//
// The library renews the key, and ends the lease when the server reports a change of the key.
// It does not report whether the release found the key. It repeats commands after a broken
// connection, which are not counted.
//
// # References
//
// github.com/redis/rueidis v1.0.79, rueidislock/lock.go and README.md.
var rueidisPush = newRueidis("rueidislock", harness.Historical,
	"rueidislock v1.0.79 as for one server: one key, the server notifies all waiters; loses wake-ups",
	func(o *rueidislock.LockerOption) {
		o.KeyMajority, o.NoLoopTracking = 1, true
		// There is no next key to try. The limit applies to each request. A slower request on a busy
		// machine would lose a wake-up: the server does not notify a client of its own deletions.
		o.TryNextAfter = redisTTL
	})

// rueidisMajority is the library without options: two of three keys, here on one server. The
// race of rueidisPush, over a round trip, did not occur in 300,000 acquisitions.
var rueidisMajority = newRueidis("rueidislock-majority", harness.Correct,
	"rueidislock v1.0.79 with its defaults: two of three keys, the server notifies all waiters",
	func(*rueidislock.LockerOption) {})

// rueidisPoll is without client-side caching: waiters ask again after TryNextAfter, 20 ms.
var rueidisPoll = newRueidis("rueidislock-poll", harness.Correct,
	"rueidislock v1.0.79 without client-side caching: one key, asks again after 20 ms",
	func(o *rueidislock.LockerOption) {
		o.KeyMajority, o.ClientOption.DisableCache = 1, true
	})

func newRueidis(name string, status harness.Status, doc string, set func(*rueidislock.LockerOption)) *harness.Variant {
	v := newPeer(name, doc, "redis/rueidis v1.0.79, rueidislock/lock.go", harness.KindRedis, harness.Traits{},
		func(ctx context.Context, at harness.Endpoint, key string) (harness.Remote, error) {
			return dialRueidis(ctx, at, key, set)
		})
	v.Status = status
	return v
}

type rueidisClient struct {
	locker        rueidislock.Locker
	key           string
	requests      atomic.Uint64
	notifications atomic.Uint64
}

func dialRueidis(ctx context.Context, at harness.Endpoint, key string, set func(*rueidislock.LockerOption)) (*rueidisClient, error) {
	if at.Kind != harness.KindRedis || len(at.Addrs) == 0 || len(at.Addrs[0]) != 1 {
		return nil, fmt.Errorf("peers: %w: want an endpoint of kind %q with one address, got %q %v", harness.ErrUsage, harness.KindRedis, at.Kind, at.Addrs)
	}
	r := &rueidisClient{key: key}
	o := rueidislock.LockerOption{
		KeyPrefix:   redisPrefix[:len(redisPrefix)-1], // the library adds a colon
		KeyValidity: at.Lease,
		ClientOption: rueidis.ClientOption{
			InitAddress: at.Addrs[0], Username: at.Username, Password: at.Password, TLSConfig: at.TLS,
			ForceSingleClient: true,
		},
		ClientBuilder: r.build,
	}
	set(&o)
	// The library connects without a context.
	locker, err := await(ctx, func() (rueidislock.Locker, error) { return rueidislock.NewLocker(o) }, rueidislock.Locker.Close)
	if err != nil {
		return nil, fmt.Errorf("peers: %w: %s: %w", harness.ErrUnavailable, at.Addrs[0][0], err)
	}
	r.locker = locker
	return r, nil
}

func (r *rueidisClient) build(o rueidis.ClientOption) (rueidis.Client, error) {
	if tell := o.OnInvalidations; tell != nil {
		o.OnInvalidations = func(keys []rueidis.RedisMessage) {
			r.notifications.Add(uint64(len(keys)))
			tell(keys)
		}
	}
	client, err := rueidis.NewClient(o)
	if err != nil {
		return nil, err
	}
	return &countedRueidis{client, &r.requests}, nil
}

type countedRueidis struct {
	rueidis.Client
	requests *atomic.Uint64
}

func (c *countedRueidis) Do(ctx context.Context, cmd rueidis.Completed) rueidis.RedisResult {
	c.requests.Add(1)
	return c.Client.Do(ctx, cmd)
}

// Counts returns the sent commands, and the keys that the server has reported as changed.
func (r *rueidisClient) Counts() harness.Counts {
	return harness.Counts{Requests: r.requests.Load(), Notifications: r.notifications.Load()}
}

func (r *rueidisClient) Join(context.Context, int) (harness.Session, error) {
	return &redisSession{r.key, r.lock}, nil
}

func (r *rueidisClient) Close() error {
	r.locker.Close()
	return nil
}

// tryUntilAnswered tries again when a request has taken longer than TryNextAfter: the library
// has undone it, without knowing whether the lock is held.
func (r *rueidisClient) tryUntilAnswered(ctx context.Context, name string) (alive context.Context, release context.CancelFunc, err error) {
	for {
		alive, release, err = r.locker.TryWithContext(ctx, name)
		if ctx.Err() != nil || !errors.Is(err, context.DeadlineExceeded) {
			return alive, release, err
		}
	}
}

func (r *rueidisClient) lock(ctx context.Context, try bool) (*adapt.Lease, error) {
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	lock := r.locker.WithContext
	if try {
		lock = r.tryUntilAnswered
	}
	hold, end := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, end)
	alive, release, err := lock(hold, r.key)
	if !stop() { // ctx has ended
		if err == nil {
			release()
		}
		err = ctx.Err()
	}
	if err != nil {
		end()
		if errors.Is(err, rueidislock.ErrNotLocked) {
			err = errors.Join(harness.ErrNotAcquired, err)
		}
		return nil, err
	}
	var unwatch func() bool // false if alive has ended
	l := adapt.NewLease(context.Background(), time.Time{}, func(ctx context.Context) (bool, error) {
		held := unwatch()
		_, err := await(ctx, func() (bool, error) {
			release() // returns when the library has finished with the key
			end()
			return true, nil
		}, func(bool) {})
		return held, err
	})
	unwatch = context.AfterFunc(alive, func() {
		l.Lose(errors.New("its key has changed, or could not be renewed"))
	})
	return l, nil
}
