package zookeeper_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"locklab/harness"
	"locklab/harness/locktest"
	"locklab/internal/leaktest"
	"locklab/internal/require"
	"locklab/internal/wire"
	"locklab/internal/wire/zookeeper"
)

func TestZooKeeperCounts(t *testing.T) {
	at := locktest.Endpoint(t, harness.KindZooKeeper)
	t.Run("counts", func(t *testing.T) { zooKeeperCounts(t, at) })
	t.Run("credentials", func(t *testing.T) {
		leaktest.All(t)
		at := at
		at.Username, at.Password = "locklab", "secret"
		z, err := zookeeper.Connect(t.Context(), at, zookeeper.Options{})
		requireNoError(t, err)
		defer z.Close()
		if got := z.Counts(); got != (harness.Counts{}) {
			t.Errorf("authentication counts as %+v", got)
		}
		node := "/locklab-wire-secret"
		if _, err := z.Create(node, nil, zk.FlagEphemeral, zk.AuthACL(zk.PermAll)); err != nil {
			t.Fatalf("create with the ACL of the credentials: %v", err)
		}
		at.Username = ""
		stranger, err := zookeeper.Connect(t.Context(), at, zookeeper.Options{})
		requireNoError(t, err)
		defer stranger.Close()
		if _, _, err := stranger.Get(node); !errors.Is(err, zk.ErrNoAuth) {
			t.Errorf("a stranger reads the node: %v", err)
		}
	})
}

func zooKeeperCounts(t *testing.T, at harness.Endpoint) {
	leaktest.All(t)
	at.SessionTimeout = time.Second // pings while the test waits
	var sessions atomic.Int32
	before := time.Now()
	z, err := zookeeper.Connect(t.Context(), at, zookeeper.Options{OnEvent: func(ev zk.Event) {
		if ev.State == zk.StateHasSession {
			sessions.Add(1)
		}
	}})
	requireNoError(t, err)
	defer z.Close()
	if sessions.Load() != 1 {
		t.Errorf("OnEvent saw %d sessions begin, want 1", sessions.Load())
	}
	began := time.Now()
	node := "/locklab-wire-counts"
	_, _, wake, err := z.ExistsW(node)
	requireNoError(t, err)
	if _, err := z.Create(node, make([]byte, 5000), zk.FlagEphemeral, zk.WorldACL(zk.PermAll)); err != nil {
		t.Fatal(err)
	}
	<-wake
	requireNoError(t, z.Delete(node, -1))
	p := z.Proof()
	if !p.Since.After(before) || p.Committed.Before(began) || !p.Unanswered.IsZero() {
		t.Errorf("proof %+v, want one since the session began, after %v", p, before)
	}
	for deadline := time.Now().Add(10 * time.Second); p.Next.IsZero(); p = z.Proof() { // a ping
		time.Sleep(10 * time.Millisecond)
		if time.Now().After(deadline) {
			t.Fatal("no packet for 10 s that a write could prove")
		}
	}
	time.Sleep(time.Until(p.Next))
	if _, err := z.Multi(&zk.CheckVersionRequest{Path: "/", Version: -1}); err != nil {
		t.Fatal(err)
	}
	if p := z.Proof(); !p.Since.After(began) {
		t.Errorf("a multi of one check proves nothing since %v", p.Since)
	}
	if got, want := z.Counts(), (harness.Counts{Requests: 4, Notifications: 1}); got != want {
		t.Errorf("counts %+v, want %+v", got, want)
	}
	if d := z.SessionTimeout(); d < time.Second || d > time.Minute {
		t.Errorf("session timeout %v", d)
	}
}

// TestSilentServer: the client uses TLS, and leaves a stopped server within a session's lifetime.
func TestSilentServer(t *testing.T) {
	leaktest.All(t)
	web := httptest.NewTLSServer(nil) // for its certificate
	defer web.Close()
	trusted := x509.NewCertPool()
	trusted.AddCert(web.Certificate())
	l, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: web.TLS.Certificates})
	requireNoError(t, err)
	defer l.Close()
	accepted := make(chan net.Conn, 100)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				close(accepted)
				return
			}
			accepted <- c
		}
	}()
	at := harness.Endpoint{
		Kind: harness.KindZooKeeper, Addrs: [][]string{{l.Addr().String()}},
		SessionTimeout: 3 * time.Second, TLS: &tls.Config{RootCAs: trusted, MinVersion: tls.VersionTLS12},
	}
	ctx, cancel := context.WithTimeout(t.Context(), 8*time.Second)
	defer cancel()
	done := make(chan error, 1)
	go func() {
		_, err := zookeeper.Connect(ctx, at, zookeeper.Options{})
		done <- err
	}()
	if _, err := wire.ReadFrame(<-accepted, 1<<10); err != nil {
		t.Errorf("the first request by TLS: %v", err)
	}
	select {
	case <-accepted: // it came again; the library by itself would wait for 20 s
	case <-ctx.Done():
		t.Error("the client stays with a server that does not answer")
	}
	cancel()
	if err := <-done; !errors.Is(err, harness.ErrUnavailable) || !errors.Is(err, ctx.Err()) {
		t.Errorf("error %v, want ErrUnavailable and %v", err, ctx.Err())
	}
	l.Close()
	for c := range accepted {
		c.Close()
	}
}

func TestEndpointMistakes(t *testing.T) {
	good := harness.Endpoint{Kind: harness.KindZooKeeper, Addrs: [][]string{{"127.0.0.1:1"}}}
	for what, spoil := range map[string]func(*harness.Endpoint){
		"nothing":           func(at *harness.Endpoint) { *at = harness.Endpoint{} },
		"another kind":      func(at *harness.Endpoint) { at.Kind = harness.KindRedis },
		"no list":           func(at *harness.Endpoint) { at.Addrs = nil },
		"an empty list":     func(at *harness.Endpoint) { at.Addrs = [][]string{{}} },
		"a negative time":   func(at *harness.Endpoint) { at.SessionTimeout = -1 },
		"more than 31 bits": func(at *harness.Endpoint) { at.SessionTimeout = 25 * 24 * time.Hour },
		"a time too long":   func(at *harness.Endpoint) { at.SessionTimeout = 1 << 62 },
	} {
		at := good
		spoil(&at)
		if _, err := zookeeper.Connect(t.Context(), at, zookeeper.Options{}); !errors.Is(err, harness.ErrUsage) {
			t.Errorf("%s: %v, want ErrUsage", what, err)
		}
	}
}

var requireNoError = require.NoError
