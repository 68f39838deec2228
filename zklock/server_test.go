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

// common is a server for all tests that do not hurt one: to start one is more work for
// the machine than most tests are. No two of them use the same nodes, see newPath.
var common struct {
	mu     sync.Mutex
	server *backend.Server // nil before the first test that asks
}

// endpoint says where a server is that other tests use, too. It skips t, or fails
// it if LOCKLAB_REQUIRE says so, where there is none to be had.
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

// stopCommon removes what is left below root, and stops the server.
func stopCommon() error {
	common.mu.Lock()
	defer common.mu.Unlock()
	if common.server == nil {
		return nil
	}
	return errors.Join(sweep(common.server.Endpoint()), common.server.Stop())
}

// sweep removes the nodes that the tests have left.
func sweep(at harness.Endpoint) error {
	if at.Username == "" {
		at.Username, at.Password = user, password // some are theirs
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
