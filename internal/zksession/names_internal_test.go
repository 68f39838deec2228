package zksession

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// zone answers lookups. Unknown hosts fail, and slow delays answers.
type zone struct {
	hosts map[string][]string
	slow  time.Duration
}

var errNoHost = errors.New("no such host")

func (z *zone) lookup(ctx context.Context, host string) ([]string, error) {
	select {
	case <-time.After(z.slow):
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if addrs := z.hosts[host]; addrs != nil {
		return addrs, nil
	}
	return nil, errNoHost
}

func round(h *hosts) (addrs []string, errs []error) {
	for {
		h.Next()
		to, _ := h.due()
		if to.err != nil {
			errs = append(errs, to.err)
		} else {
			addrs = append(addrs, to.address)
		}
		if h.mu.Lock(); len(h.left) == 0 {
			h.mu.Unlock()
			slices.Sort(addrs)
			return addrs, errs
		}
		h.mu.Unlock()
	}
}

// TestNames: a round tries all addresses of each name, or the previous ones if a lookup fails.
func TestNames(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		z := &zone{hosts: map[string][]string{"zk": {"10.0.0.1", "10.0.0.2"}, "v6.": {"2001:db8::1"}}}
		h := hostsOf(t, z.lookup, "zk:2181", "v6.:2182", "gone:2181", "127.0.0.1:2183")
		h.patience = func() time.Duration { return time.Second }
		expect := func(what string, failed int, want ...string) {
			t.Helper()
			began := time.Now()
			addrs, errs := round(h)
			if slices.Sort(want); !slices.Equal(addrs, want) || len(errs) != failed {
				t.Errorf("%s: tried %v and failed by %v, want %v and %d", what, addrs, errs, want, failed)
			}
			if took := time.Since(began); took > time.Second {
				t.Errorf("%s: the lookup took %v", what, took)
			}
		}
		expect("at first", 1, "10.0.0.1:2181", "10.0.0.2:2181", "[2001:db8::1]:2182", "127.0.0.1:2183")
		z.hosts["zk"] = []string{"10.0.0.3"}
		expect("a new address", 1, "10.0.0.3:2181", "[2001:db8::1]:2182", "127.0.0.1:2183")
		delete(z.hosts, "zk")
		z.hosts["gone"] = []string{"10.0.0.4"}
		expect("a lookup that fails", 0, "10.0.0.3:2181", "[2001:db8::1]:2182", "127.0.0.1:2183", "10.0.0.4:2181")
		z.slow = 2 * time.Second
		z.hosts["gone"] = []string{"10.0.0.5"}
		expect("slow lookups", 0, "10.0.0.3:2181", "[2001:db8::1]:2182", "127.0.0.1:2183", "10.0.0.4:2181")
		if addrs, errs := round(hostsOf(t, z.lookup, "zk:2181")); len(addrs) != 0 || len(errs) != 1 || !errors.Is(errs[0], errNoHost) {
			t.Errorf("a first lookup, slow and without an answer: %v, %v", addrs, errs)
		}
		if addrs, errs := round(hostsOf(t, z.lookup, "gone:2181")); len(addrs) != 1 || len(errs) != 0 {
			t.Errorf("a first lookup that is slow: %v, %v", addrs, errs)
		}
	})
}

// TestShuffle: clients spread over the addresses of a name.
func TestShuffle(t *testing.T) {
	z := &zone{hosts: map[string][]string{"zk": {"10.0.0.1", "10.0.0.2", "10.0.0.3"}}}
	first := make(map[string]bool)
	for range 200 {
		h := hostsOf(t, z.lookup, "zk:2181")
		h.Next()
		to, _ := h.due()
		first[to.address] = true
	}
	if len(first) != 3 {
		t.Errorf("clients begin at %v, want at three addresses", first)
	}
}

// TestTLSName: the certificate must match the server's name, or ServerName if set.
func TestTLSName(t *testing.T) {
	web := httptest.NewUnstartedServer(http.NotFoundHandler()) // its certificate is for example.com and 127.0.0.1
	hellos := make(chan string, 1)
	web.TLS = &tls.Config{GetConfigForClient: func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
		hellos <- hello.ServerName
		return nil, nil
	}}
	web.Config.ErrorLog = log.New(io.Discard, "", 0)
	web.StartTLS()
	defer web.Close()
	roots := x509.NewCertPool()
	roots.AddCert(web.Certificate())
	for _, test := range []struct {
		host, serverName, hello string
		ok                      bool
	}{
		{"example.com", "", "example.com", true},
		{"example.com.", "", "example.com", true},
		{"127.0.0.1", "", "", true},
		{"zk-0.test", "", "zk-0.test", false},
		{"zk-0.test", "example.com", "example.com", true},
		{"example.com", "zk-0.test", "zk-0.test", false},
	} {
		to := target{server: server{test.host, "1"}, address: web.Listener.Addr().String()}
		config := &tls.Config{RootCAs: roots, ServerName: test.serverName}
		c, err := to.dial(t.Context(), config)
		if hello := <-hellos; hello != test.hello || (err == nil) != test.ok {
			t.Errorf("%+v: hello for %q, %v", test, hello, err)
		}
		if err == nil {
			c.Close()
		}
		if config.ServerName != test.serverName {
			t.Error("the caller's configuration was changed")
		}
	}
}
