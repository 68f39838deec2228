package zklock_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"log"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"locklab/harness"
	"locklab/internal/backend"
	"locklab/zklock"
)

// An ensemble with TLS (secureClientPort) and ACLs; the example needs files, so it is not run.
func ExampleDial() {
	ca, err := os.ReadFile("ca.pem")
	if err != nil {
		log.Fatal(err)
	}
	trusted := x509.NewCertPool()
	trusted.AppendCertsFromPEM(ca)
	mine, err := tls.LoadX509KeyPair("client.pem", "client.key")
	if err != nil {
		log.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	client, err := zklock.Dial(ctx, []string{"zk1:2281", "zk2:2281", "zk3:2281"}, zklock.ClientOptions{
		SessionTimeout: 6 * time.Second, // how long a crashed holder blocks the others
		Username:       "reindex",
		Password:       os.Getenv("ZOOKEEPER_PASSWORD"),
		TLS:            &tls.Config{RootCAs: trusted, Certificates: []tls.Certificate{mine}},
	})
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
}

// TestTLS uses a server's TLS port (secureClientPort), which requires client certificates.
func TestTLS(t *testing.T) {
	t.Parallel()
	server, err := backend.StartSetup(t.Context(), harness.KindZooKeeper, backend.Setup{TLS: true, ClientCertificate: true, Own: true})
	requireStarted(t, server, err)
	at := server.Endpoint()
	m := dial(t, at, zklock.ClientOptions{TLS: at.TLS}).Mutex(newPath(), zklock.Options{})
	n := dial(t, at, zklock.ClientOptions{TLS: at.TLS}).Mutex(m.Path(), zklock.Options{})
	for range 3 {
		held := lock(t, m)
		next := behind(t.Context(), n.Lock)
		unlock(t, held)
		l := awaitLease(t, next)
		expectRisingTokens(t, held, l)
		unlock(t, l)
	}
	var wg sync.WaitGroup
	defer wg.Wait()
	elsewhere := at.TLS.Clone()
	elsewhere.ServerName = "elsewhere"
	for what, bad := range map[string]*tls.Config{
		"no certificate":  {RootCAs: at.TLS.RootCAs},
		"unknown server":  {Certificates: at.TLS.Certificates},
		"no TLS at all":   nil,
		"wrong host name": elsewhere,
	} {
		wg.Go(func() {
			ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
			defer cancel()
			c, err := zklock.Dial(ctx, at.Addrs[0], zklock.ClientOptions{TLS: bad})
			if err == nil {
				c.Close()
				t.Errorf("%s: Dial succeeds", what)
			} else if strings.Contains(err.Error(), "\n") {
				t.Errorf("%s: Dial = %q, want one line", what, err)
			}
			t.Logf("%s: %v", what, err)
		})
	}
}
