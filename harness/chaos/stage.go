package chaos

import (
	"context"
	"fmt"
	"io"
	"log"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/redis/go-redis/v9"

	"locklab/harness"
	"locklab/internal/backend"
	"locklab/internal/faultproxy"
)

// A Stage is the servers of a scenario. Servers that a failure leaves intact serve all of
// its tries. The lab started all of them: a failure never reaches a user's server.
type Stage struct {
	mu      sync.Mutex
	servers map[string]*backend.Server
	started func(*backend.Server)

	starting atomic.Int32 // servers that start and clients that connect, see limit
}

// TTL and SessionTimeout are the defaults of scenarios: short enough for many tries, and
// long enough for renewal on a busy machine.
const (
	TTL            = time.Second
	SessionTimeout = 2 * time.Second
)

// Shared returns the servers called name; the first try that needs them calls start, while the
// deadline of the try pauses. It refuses a user's servers.
func (s *Stage) Shared(ctx context.Context, name string, start func(context.Context) (*backend.Server, error)) *backend.Server {
	s.mu.Lock()
	defer s.mu.Unlock()
	if server := s.servers[name]; server != nil {
		return server
	}
	s.starting.Add(1)
	defer s.starting.Add(-1)
	server := must(start(ctx))
	if !server.Owned() {
		server.Stop()
		check(fmt.Errorf("chaos: the lab did not start %v", server.Endpoint().Addrs))
	}
	s.servers[name] = server
	s.started(server)
	return server
}

// At returns servers shared by all tries, of the kind and number that the lock needs: one
// Redis, the independent ones of Redlock, or one ZooKeeper.
func (s *Stage) At(ctx context.Context, lock *Subject) harness.Endpoint {
	if lock.Variant.Traits.Needs != harness.KindZooKeeper {
		return s.redis(ctx, max(1, lock.Variant.Traits.Servers), backend.StartAlone).all()
	}
	return Short(s.Shared(ctx, "zookeeper", ensembleOf(backend.EnsembleOptions{Servers: 1})).Endpoint())
}

func ensembleOf(o backend.EnsembleOptions) func(context.Context) (*backend.Server, error) {
	return func(ctx context.Context) (*backend.Server, error) { return backend.StartEnsembleOf(ctx, o) }
}

// Short returns the endpoint with the leases and sessions of scenarios.
func Short(at harness.Endpoint) harness.Endpoint {
	at.Lease, at.SessionTimeout = TTL, SessionTimeout
	return at
}

func (s *Stage) drop(name string) {
	s.mu.Lock()
	server := s.servers[name]
	delete(s.servers, name)
	s.mu.Unlock()
	if server != nil {
		server.Stop()
	}
}

func (s *Stage) close() {
	s.mu.Lock()
	servers := s.servers
	s.servers = nil
	s.mu.Unlock()
	var wg sync.WaitGroup
	for _, server := range servers {
		wg.Go(func() { server.Stop() })
	}
	wg.Wait()
}

// limit returns a context that ends after deadline. Time does not count while servers start
// or clients connect, because a busy machine delays that.
func (t *Try) limit(ctx context.Context, deadline time.Duration) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	go func() {
		const step = 20 * time.Millisecond
		for left := deadline; left > 0; sleep(ctx, step) {
			if ctx.Err() != nil {
				return
			}
			if t.Stage.starting.Load() == 0 {
				left -= step
			}
		}
		cancel(errDeadline)
	}()
	return ctx, func() { cancel(nil) }
}

var errDeadline = fmt.Errorf("chaos: the try is over: %w", context.DeadlineExceeded)

// Own starts the servers of this try, which it may break. They stop when it ends.
func (t *Try) Own(ctx context.Context, start func(context.Context) (*backend.Server, error)) *backend.Server {
	t.Defer(func() { t.drop("own") })
	return t.Shared(ctx, "own", start)
}

// Redis returns a client for a scenario's commands to a server. It is closed when the try ends.
func (t *Try) Redis(addr string) *redis.Client {
	c := redis.NewClient(&redis.Options{Addr: addr, MaxRetries: -1, Protocol: 2, DisableIdentity: true})
	t.Defer(func() { c.Close() })
	return c
}

// ZooKeeper returns a session for a scenario's changes to tickets, closed when the try ends.
func (t *Try) ZooKeeper(addrs []string) *zk.Conn {
	c, events, err := zk.Connect(addrs, 10*time.Second, zk.WithLogger(log.New(io.Discard, "", 0)))
	check(err)
	go func() {
		for range events {
		}
	}()
	t.Defer(c.Close)
	return c
}

// Through returns at with a proxy in front of each server, and the proxies in that order.
func (t *Try) Through(at harness.Endpoint) (harness.Endpoint, wire) {
	framing := faultproxy.Redis
	if at.Kind == harness.KindZooKeeper {
		framing = faultproxy.ZooKeeper
	}
	row := must(faultproxy.NewRow(at.Addrs, framing, func(int) faultproxy.Options { return faultproxy.Options{} }))
	t.Defer(func() { row.Close() })
	at.Addrs = row.Addrs
	return at, row.Proxies
}

// proxy accepts a nil see.
func (t *Try) proxy(to string, framing func() faultproxy.Framing, see func(faultproxy.Sighting)) *faultproxy.Proxy {
	p := must(faultproxy.New(to, framing, faultproxy.Options{Observe: see}))
	t.Defer(func() { p.Close() })
	return p
}
