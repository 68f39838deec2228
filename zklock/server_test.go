package zklock_test

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/go-zookeeper/zk"

	"locklab/harness"
	"locklab/internal/backend"
	wirezk "locklab/internal/wire/zookeeper"
)

// common is a server for all tests that do not harm it, each on its own nodes, see newPath.
var common struct {
	mu     sync.Mutex
	server *backend.Server // nil before the first test that needs it
}

// endpoint returns the common server, or skips t, or fails it if LOCKLAB_REQUIRE demands one.
func endpoint(t *testing.T) harness.Endpoint {
	t.Helper()
	common.mu.Lock()
	defer common.mu.Unlock()
	if common.server == nil {
		server, err := backend.Start(context.Background(), harness.KindZooKeeper)
		if errors.Is(err, harness.ErrUnavailable) && !backend.Required(harness.KindZooKeeper) {
			t.Skipf("no zookeeper: %v", err)
		}
		if err != nil {
			t.Fatalf("no zookeeper: %v", err)
		}
		common.server = server
	}
	return common.server.Endpoint()
}

func stopCommon() error {
	common.mu.Lock()
	defer common.mu.Unlock()
	if common.server == nil {
		return nil
	}
	return errors.Join(sweep(common.server.Endpoint()), common.server.Stop())
}

func sweep(at harness.Endpoint) error {
	if at.Username == "" {
		at.Username, at.Password = user, password // some nodes are this user's
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	c, err := wirezk.Connect(ctx, at, wirezk.Options{})
	if err != nil {
		return err
	}
	defer c.Close()
	return removeAll(c, root)
}

func removeAll(c *wirezk.Conn, path string) error {
	names, _, err := c.Children(path)
	if errors.Is(err, zk.ErrNoNode) {
		return nil
	}
	errs := []error{err}
	for _, name := range names {
		errs = append(errs, removeAll(c, path+"/"+name))
	}
	if err := c.Delete(path, -1); !errors.Is(err, zk.ErrNoNode) {
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}
