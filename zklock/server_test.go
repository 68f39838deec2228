package zklock_test

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/go-zookeeper/zk"

	"locklab/harness"
	"locklab/internal/backend"
	"locklab/internal/wire"
)

// common is a server for all tests that run at the same time: to start one is
// more work for the machine than most tests are. No two of them use the same
// nodes, see newPath.
var common struct {
	mu     sync.Mutex
	users  int
	server *backend.Server // while there are users
}

// endpoint says where a server is that other tests use, too. It skips t, or fails
// it if LOCKLAB_REQUIRE says so, where there is none to be had. The last of them
// to end removes what is left below root, and stops the server.
func endpoint(t *testing.T) harness.Endpoint {
	t.Helper()
	common.mu.Lock()
	defer common.mu.Unlock()
	if common.users == 0 {
		server, err := backend.Start(context.Background(), harness.KindZooKeeper)
		if errors.Is(err, harness.ErrUnavailable) && !backend.Required(harness.KindZooKeeper) {
			t.Skipf("no zookeeper: %v", err)
		}
		if err != nil {
			t.Fatalf("no zookeeper: %v", err)
		}
		common.server = server
	}
	common.users++
	at := common.server.Endpoint()
	t.Cleanup(func() {
		common.mu.Lock()
		defer common.mu.Unlock()
		if common.users--; common.users > 0 {
			return
		}
		if err := sweep(at); err != nil {
			t.Error(err)
		}
		if err := common.server.Stop(); err != nil {
			t.Error(err)
		}
	})
	return at
}

// sweep removes the nodes that the tests have left.
func sweep(at harness.Endpoint) error {
	if at.Username == "" {
		at.Username, at.Password = user, password // some are theirs
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	c, err := wire.ZooKeeper(ctx, at, wire.ZooKeeperOptions{})
	if err != nil {
		return err
	}
	defer c.Close()
	return removeAll(c, root)
}

func removeAll(c *wire.ZooKeeperConn, path string) error {
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
