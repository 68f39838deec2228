package redis

import (
	"context"
	"fmt"
	"net"
	"sync/atomic"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"locklab/harness"
)

// poolSize is how many connections a Redis client may open, on demand: a lock
// must not wait for a connection until its lease is half over.
const poolSize = 64

// Connect returns a client of the server at.Addrs[0][0] and the Counter of its
// commands. Each command counts as one request, those of a pipeline too; what
// go-redis sends to set up a connection (HELLO, AUTH, CLIENT, SELECT) does
// not, by whatever command it is sent. It connects on first use.
//
// The client never repeats a command or a dial by itself: a repeated SET NX
// meets its own key and takes it for another client's. It honours deadlines of contexts.
// tweak may change its options before it is made. The caller closes it.
func Connect(at harness.Endpoint, tweak ...func(*redis.Options)) (*redis.Client, *Counter, error) {
	switch {
	case at.Kind != harness.KindRedis:
		return nil, nil, fmt.Errorf("wire: %w: endpoint is of kind %q, want %q", harness.ErrUsage, at.Kind, harness.KindRedis)
	case len(at.Addrs) == 0 || len(at.Addrs[0]) == 0:
		return nil, nil, fmt.Errorf("wire: %w: endpoint of kind %q has no address", harness.ErrUsage, at.Kind)
	case len(at.Addrs[0]) != 1:
		return nil, nil, fmt.Errorf("wire: %w: a Redis server has one address, got %v", harness.ErrUsage, at.Addrs[0])
	}
	o := &redis.Options{
		Addr:                  at.Addrs[0][0],
		Username:              at.Username,
		Password:              at.Password,
		TLSConfig:             at.TLS,
		PoolSize:              poolSize,
		MaxRetries:            -1,
		DialerRetries:         1,
		ContextTimeoutEnabled: true,
		DisableIdentity:       true,
		MaintNotificationsConfig: &maintnotifications.Config{
			Mode: maintnotifications.ModeDisabled,
		},
	}
	for _, f := range tweak {
		f(o)
	}
	client := redis.NewClient(o)
	counter := new(Counter)
	client.AddHook(hook{counter})
	return client, counter, nil
}

// A Counter counts commands. Its zero value is ready; any number of clients and
// goroutines may share it.
type Counter struct{ requests atomic.Uint64 }

var _ harness.Counter = (*Counter)(nil)

// Counts returns the commands so far.
func (c *Counter) Counts() harness.Counts { return harness.Counts{Requests: c.requests.Load()} }

// hook counts the commands of a client.
type hook struct{ counter *Counter }

func (h hook) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		return next(ctx, network, addr)
	}
}

func (h hook) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		h.count(cmd)
		return next(ctx, cmd)
	}
}

func (h hook) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		for _, cmd := range cmds {
			h.count(cmd)
		}
		return next(ctx, cmds)
	}
}

func (h hook) count(cmd redis.Cmder) {
	switch cmd.Name() {
	case "hello", "auth", "client", "select":
		// The handshake of each connection passes through the hook as well.
	default:
		h.counter.requests.Add(1)
	}
}
