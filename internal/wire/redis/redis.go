package redis

import (
	"cmp"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"locklab/harness"
)

// poolSize is the limit of connections of a client: a lock must not wait for a connection.
const poolSize = 64

const dialTimeout = 5 * time.Second

// Connect returns a client of the server at.Addrs[0][0], and the Counter of its connections and
// those of every client with its options. Each command counts as one request, including commands
// in a pipeline and subscriptions. The setup of a connection by go-redis (HELLO, AUTH, CLIENT,
// SELECT) does not count, whoever sends it. Each message of a channel counts as one
// notification. The client connects on first use.
//
// The client never repeats a command or a dial: a repeated SET NX would meet its own key and
// take it for another client's. It honours deadlines of contexts. tweak may change its options
// before it is made. The caller closes it.
func Connect(at harness.Endpoint, tweak ...func(*redis.Options)) (*redis.Client, *Counter, error) {
	switch {
	case at.Cluster:
		return nil, nil, fmt.Errorf("wire: %w: the lock does not run on a Redis Cluster", harness.ErrUsage)
	case at.Kind != harness.KindRedis:
		return nil, nil, fmt.Errorf("wire: %w: endpoint is of kind %q, want %q", harness.ErrUsage, at.Kind, harness.KindRedis)
	case len(at.Addrs) == 0 || len(at.Addrs[0]) != 1:
		return nil, nil, fmt.Errorf("wire: %w: a Redis server has one address, got %v", harness.ErrUsage, at.Addrs)
	}
	o := optionsOf(at).Simple()
	for _, f := range tweak {
		f(o)
	}
	if o.Dialer == nil {
		o.Dialer = redis.NewDialer(&redis.Options{DialTimeout: cmp.Or(o.DialTimeout, dialTimeout), TLSConfig: o.TLSConfig})
	}
	counter := new(Counter)
	o.Dialer = counting(o.Dialer, counter)
	return redis.NewClient(o), counter, nil
}

// ConnectAny is [Connect] for a Redis Cluster too. A cluster client repeats a request after a
// redirect or a network error, in order to follow slots that move.
func ConnectAny(at harness.Endpoint) (redis.UniversalClient, *Counter, error) {
	if !at.Cluster {
		return Connect(at)
	}
	if at.Kind != harness.KindRedis || len(at.Addrs) != 1 || len(at.Addrs[0]) == 0 {
		return nil, nil, fmt.Errorf("wire: %w: the endpoint is no Redis Cluster: %q, %v", harness.ErrUsage, at.Kind, at.Addrs)
	}
	o, counter := optionsOf(at).Cluster(), new(Counter)
	o.Dialer = counting(redis.NewDialer(&redis.Options{DialTimeout: dialTimeout, TLSConfig: at.TLS}), counter)
	return redis.NewClusterClient(o), counter, nil
}

func optionsOf(at harness.Endpoint) *redis.UniversalOptions {
	return &redis.UniversalOptions{
		Addrs:                    at.Addrs[0],
		Username:                 at.Username,
		Password:                 at.Password,
		TLSConfig:                at.TLS,
		PoolSize:                 poolSize,
		MaxRetries:               -1,
		DialerRetries:            1,
		ContextTimeoutEnabled:    true,
		DisableIdentity:          true,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	}
}
