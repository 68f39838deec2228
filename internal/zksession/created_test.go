package zksession_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/go-zookeeper/zk"

	"locklab/harness"
	"locklab/harness/locktest"
	"locklab/internal/backend"
	"locklab/internal/wire/zookeeper"
)

// TestCreateZxid: the zxid of the reply is the server's czxid, with concurrent writers.
func TestCreateZxid(t *testing.T) {
	t.Run("one server", func(t *testing.T) {
		at := locktest.Endpoint(t, harness.KindZooKeeper)
		createZxid(t, at, at)
	})
	t.Run("ensemble", func(t *testing.T) {
		server := startEnsemble(t, backend.EnsembleOptions{})
		var each []harness.Endpoint
		for _, addr := range server.Endpoint().Addrs[0] {
			at := server.Endpoint()
			at.Addrs = [][]string{{addr}}
			each = append(each, at)
		}
		createZxid(t, each...)
	})
}

func createZxid(t *testing.T, each ...harness.Endpoint) {
	const goroutines, rounds = 4, 100
	acl := zk.WorldACL(zk.PermAll)
	var wg sync.WaitGroup
	for k, at := range each {
		z, err := zookeeper.Connect(t.Context(), at, zookeeper.Options{})
		requireNoError(t, err)
		defer z.Close()
		for g := range goroutines {
			wg.Go(func() {
				for i := range rounds {
					path, zxid, err := z.CreateZxid(fmt.Sprintf("/locklab-zxid-%d-%d-", k, g), nil, zk.FlagEphemeralSequential, acl)
					if err != nil {
						t.Error(err)
						return
					}
					_, stat, err := z.Exists(path)
					if err != nil || zxid == 0 || zxid != uint64(stat.Czxid) {
						t.Errorf("node %d of client %d.%d: zxid %d, czxid %d (%v)", i, k, g, zxid, stat.Czxid, err)
						return
					}
					if err := z.Delete(path, -1); err != nil {
						t.Error(err)
						return
					}
				}
				if name, zxid, err := z.CreateZxid("/", nil, 0, acl); !errors.Is(err, zk.ErrNodeExists) || name != "" || zxid != 0 {
					t.Errorf("create of what exists = %q, %d, %v", name, zxid, err)
				}
			})
		}
	}
	wg.Wait()
}
