package zksession_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"locklab/harness"
	"locklab/harness/locktest"
	"locklab/internal/backend"
	"locklab/internal/leaktest"
	"locklab/internal/require"
	"locklab/internal/zksession"
)

// TestCreateZxid: the zxid of the reply is the server's czxid, at every server of an ensemble
// with concurrent writers.
func TestCreateZxid(t *testing.T) {
	const goroutines, rounds = 4, 100
	server, acl := startEnsemble(t, backend.EnsembleOptions{}), zk.WorldACL(zk.PermAll)
	var wg sync.WaitGroup
	for k, addr := range server.Endpoint().Addrs[0] {
		z := connectServer(t, zksession.Options{Servers: []string{addr}})
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
	z := connectServer(t, zksession.Options{Servers: at.Addrs[0], Username: at.Username, Password: at.Password, TLS: at.TLS})
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
			z := connectServer(t, zksession.Options{Servers: at.Addrs[0]})
			for i := range watches {
				path := fmt.Sprintf("/%0999d", i)
				_, _, _, err := z.ExistsW(strings.Replace(path, "0", "x", 1))
				require.NoError(t, err)
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

func startServer(t *testing.T, config string) (s *backend.Server, addrs []string) {
	t.Helper()
	s = startEnsemble(t, backend.EnsembleOptions{Servers: 1, Config: config})
	return s, s.Endpoint().Addrs[0]
}

func startEnsemble(t *testing.T, o backend.EnsembleOptions) *backend.Server {
	t.Helper()
	s, err := backend.StartEnsembleOf(t.Context(), o)
	locktest.RequireServers(t, harness.KindZooKeeper, err)
	t.Cleanup(func() { requireNoError(t, s.Stop()) })
	return s
}

var requireNoError = require.NoError

func errorOf[T any](_ T, err error) error { return err }

func connectServer(t *testing.T, o zksession.Options) *zksession.Conn {
	t.Helper()
	z, err := zksession.Connect(t.Context(), o)
	requireNoError(t, err)
	t.Cleanup(z.Close)
	return z
}

func connectWatched(t *testing.T, addrs []string, expired chan<- struct{}) *zksession.Conn {
	t.Helper()
	return connectServer(t, zksession.Options{Servers: addrs, SessionTimeout: time.Second, OnEvent: func(ev zk.Event) {
		if ev.State == zk.StateExpired {
			expired <- struct{}{}
		}
	}})
}

// TestIsOlder: a session is over only if the server does not have it, or has seen less.
func TestIsOlder(t *testing.T) {
	at := locktest.Endpoint(t, harness.KindZooKeeper)
	expired := make(chan struct{}, 10)
	z := connectWatched(t, at.Addrs[0], expired)
	z.Cut()
	requireAnswer(t, z)
	hello := z.Hello()
	requireOlder := func(what string, want bool) {
		t.Helper()
		is, err := false, io.EOF
		for tries := 0; tries < 100 && errors.Is(err, io.EOF); tries++ { // the client takes its session back
			c, failed := net.Dial("tcp", at.Addrs[0][0])
			requireNoError(t, failed)
			is, err = zksession.IsOlder(c, hello)
			c.Close()
		}
		if is != want || err != nil {
			t.Errorf("%s: %t, %v, want %t", what, is, err, want)
		}
	}
	requireOlder("a server with all that the client has seen", false)
	if len(expired) != 0 {
		t.Fatal("the session has ended")
	}
	const seen = 4 + 4 // position of the zxid in the handshake
	binary.BigEndian.PutUint64(hello[seen:], math.MaxInt64)
	requireOlder("a server with less", true)
	<-expired
	requireOlder("a server without the session", true)
}

// TestAuthenticationRequired: servers that require authentication refuse other clients.
func TestAuthenticationRequired(t *testing.T) {
	t.Parallel()
	for config, digest := range map[string]bool{
		"enforce.auth.enabled=true\nenforce.auth.schemes=digest":                                                        true,
		"sessionRequireClientSASLAuth=true\nauthProvider.1=org.apache.zookeeper.server.auth.SASLAuthenticationProvider": false,
	} {
		t.Run(strings.SplitN(config, "=", 2)[0], func(t *testing.T) {
			_, addrs := startServer(t, config)
			z, err := zksession.Connect(t.Context(), zksession.Options{Servers: addrs})
			if !errors.Is(err, zksession.ErrAuthentication) {
				t.Errorf("Connect without credentials = %v, want ErrAuthentication", err)
			}
			if err == nil {
				z.Close()
			}
			z, err = zksession.Connect(t.Context(), zksession.Options{Servers: addrs, Username: "u", Password: "p"})
			if digest != (err == nil) || !digest && !errors.Is(err, zksession.ErrAuthentication) {
				t.Errorf("Connect with credentials = %v, want an error: %t", err, !digest)
			}
			if err == nil {
				z.Cut()
				requireAnswer(t, z)
				z.Close()
			}
		})
	}
}

// TestNoSession: the error of Connect describes the server's behaviour.
func TestNoSession(t *testing.T) {
	t.Parallel()
	_, addrs := startServer(t, "maxClientCnxns=1")
	z := connectServer(t, zksession.Options{Servers: addrs})
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if _, err := zksession.Connect(ctx, zksession.Options{Servers: addrs}); !errors.Is(err, zksession.ErrNoSession) ||
		!errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "maxClientCnxns") {
		t.Errorf("Connect at the limit of connections = %v", err)
	}
	z.Close()
	connectServer(t, zksession.Options{Servers: addrs})
}

// TestClose: Close returns after the library has ended, in every state.
func TestClose(t *testing.T) {
	at := locktest.Endpoint(t, harness.KindZooKeeper)
	leaktest.All(t)
	for range 5 {
		z := connectServer(t, zksession.Options{Servers: at.Addrs[0]})
		if z.Close(); !z.Ended() {
			t.Fatal("Close returned before the library's goroutines ended")
		}
		z.Close()
	}
}

func TestCloseLate(t *testing.T) {
	t.Parallel()
	const timeout, patience = 40 * time.Second, 20 * time.Second
	server, addrs := startServer(t, "")
	o := zksession.Options{Servers: addrs, SessionTimeout: timeout}
	z, see := connectServer(t, o), connectServer(t, o)
	if z.SessionTimeout() != timeout {
		t.Fatalf("the server grants a session timeout of %v", z.SessionTimeout())
	}
	requireNoError(t, errorOf(z.Create("/held", nil, zk.FlagEphemeral, zk.WorldACL(zk.PermAll))))
	requireNoError(t, server.Signal(0, syscall.SIGSTOP))
	const requests = 200
	sent := func() uint64 { n, _ := z.Traffic(); return n }
	for before := sent(); sent() < before+requests; time.Sleep(time.Millisecond) {
		go z.Create("/more-", nil, zk.FlagEphemeralSequential, zk.WorldACL(zk.PermAll))
	}
	z.Close()
	requireNoError(t, server.Signal(0, syscall.SIGCONT))
	for end := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		there, _, err := see.Exists("/held")
		if err == nil && !there {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("the session lives on: %t, %v", there, err)
		}
	}
}

func requireAnswer(t *testing.T, z *zksession.Conn) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(time.Millisecond) {
		_, _, err := z.Exists("/")
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
}
