package zksession_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"locklab/harness"
	"locklab/harness/locktest"
	"locklab/internal/backend"
	"locklab/internal/zksession"
)

// TestCreateZxid: the zxid of the reply is the server's czxid, at every server of an ensemble
// with concurrent writers.
func TestCreateZxid(t *testing.T) {
	const goroutines, rounds = 4, 100
	server, acl := startEnsemble(t, backend.EnsembleOptions{}), zk.WorldACL(zk.PermAll)
	var wg sync.WaitGroup
	for k, addr := range server.Endpoint().Addrs[0] {
		z := connect(t, zksession.Options{Servers: []string{addr}})
		for g := range goroutines {
			wg.Go(func() {
				for i := range rounds {
					path, zxid, err := z.CreateZxid(fmt.Sprintf("/locklab-zxid-%d-%d-", k, g), nil, zk.FlagEphemeralSequential, acl)
					_, stat, failed := z.Exists(path)
					if err := errors.Join(err, failed); err != nil || zxid == 0 || zxid != uint64(stat.Czxid) {
						t.Errorf("node %d of client %d.%d: zxid %d, %+v, %v", i, k, g, zxid, stat, err)
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

// TestDeleteOn: a deletion bound to a connection happens on that one or not at all.
func TestDeleteOn(t *testing.T) {
	at := locktest.Endpoint(t, harness.KindZooKeeper)
	z := connect(t, zksession.Options{Servers: at.Addrs[0], Username: at.Username, Password: at.Password, TLS: at.TLS})
	node, err := z.Create("/locklab-link-", nil, zk.FlagEphemeralSequential, zk.WorldACL(zk.PermAll))
	requireNoError(t, err)
	old := z.Link()
	for tries := 0; tries == 0 || errors.Is(err, zk.ErrConnectionClosed); tries++ {
		if tries%3 == 0 { // then at once, when the request waits for the next connection, and on that one
			z.Cut()
		}
		err = z.DeleteOn(old, node)
	}
	if !errors.Is(err, zksession.ErrOtherLink) {
		t.Errorf("DeleteOn of a connection that has gone = %v, want ErrOtherLink", err)
	}
	requireAnswer(t, z)
	for _, want := range []error{nil, zk.ErrNoNode} {
		if err := z.DeleteOn(z.Link(), node); !errors.Is(err, want) {
			t.Errorf("DeleteOn of the connection there is = %v, want %v", err, want)
		}
	}
	if err := z.DeleteOn(old, node); !errors.Is(err, zk.ErrNoNode) {
		t.Errorf("DeleteOn of a node that has gone = %v, want ErrNoNode", err)
	}
}

// TestManyWatches: watches that need several packets, or fill one, are restored first.
func TestManyWatches(t *testing.T) {
	at := locktest.Endpoint(t, harness.KindZooKeeper)
	const perPacket = 130 // of paths of 1,000 bytes
	for watches, full := range map[int]bool{
		100:       false,
		perPacket: true, // another could follow: requests wait for it, in vain
		3 * 100:   false,
	} {
		t.Run(fmt.Sprint(watches), func(t *testing.T) {
			z := connect(t, zksession.Options{Servers: at.Addrs[0]})
			for i := range watches {
				path := fmt.Sprintf("/%0999d", i)
				if _, _, _, err := z.ExistsW(strings.Replace(path, "0", "x", 1)); err != nil {
					t.Fatal(err)
				}
			}
			for range 20 { // a busy machine can be late with the watches
				before := z.Link()
				z.Cut()
				for z.Link() == before {
					time.Sleep(time.Millisecond)
				}
				requireAnswer(t, z)
				if full || !z.Overtaken() {
					return
				}
			}
			t.Error("requests go before the watches")
		})
	}
}
