package chaos

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"locklab/harness"
	"locklab/internal/backend"
)

// A Stage is the servers of a scenario. Servers that a failure leaves intact serve all of
// its tries. The lab started all of them: a failure never reaches a user's server.
type Stage struct {
	mu      sync.Mutex
	servers map[string]*backend.Server

	starting atomic.Int32 // servers that start and clients that connect, see limit
}

// TTL and SessionTimeout are the defaults of scenarios: short enough for many tries, and
// long enough for renewal on a busy machine.
const (
	TTL            = time.Second
	SessionTimeout = 2 * time.Second
)

// Shared returns the servers called name; the first try that needs them calls start.
func (s *Stage) Shared(ctx context.Context, name string, start func(context.Context) (*backend.Server, error)) (*backend.Server, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if server := s.servers[name]; server != nil {
		return server, nil
	}
	server, err := s.start(ctx, start)
	if err != nil {
		return nil, err
	}
	s.servers[name] = server
	return server, nil
}

// start starts servers, while the deadline of the try pauses. It refuses a user's servers.
func (s *Stage) start(ctx context.Context, start func(context.Context) (*backend.Server, error)) (*backend.Server, error) {
	s.starting.Add(1)
	defer s.starting.Add(-1)
	server, err := start(ctx)
	if err == nil && !server.Owned() {
		server.Stop()
		return nil, fmt.Errorf("chaos: the lab did not start %v", server.Endpoint().Addrs)
	}
	return server, err
}

// At returns servers shared by all tries, of the kind and number that the lock needs: one
// Redis, the independent ones of Redlock, or one ZooKeeper.
func (s *Stage) At(ctx context.Context, lock *harness.Variant) (harness.Endpoint, error) {
	if lock.Traits.Needs != harness.KindZooKeeper {
		f, err := s.redis(ctx, max(1, lock.Traits.Servers), backend.StartAlone)
		return f.all(), err
	}
	server, err := s.Shared(ctx, "zookeeper", func(ctx context.Context) (*backend.Server, error) {
		return backend.StartEnsembleOf(ctx, backend.EnsembleOptions{Servers: 1})
	})
	if err != nil {
		return harness.Endpoint{}, err
	}
	return Short(server.Endpoint()), nil
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
