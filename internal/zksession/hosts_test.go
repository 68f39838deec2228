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
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"locklab/internal/require"
)

func hostsOf(t *testing.T, lookup func(context.Context, string) ([]string, error), addrs ...string) *hosts {
	t.Helper()
	servers, err := parseServers(addrs)
	require.NoError(t, err)
	z := &Conn{dialing: t.Context()}
	return z.newHosts(servers, lookup)
}

// TestHung: in the first rounds without a session the client waits shortly, and skips a hung
// server while there is another. Then it waits longer, and tries all.
func TestHung(t *testing.T) {
	servers := []string{"127.0.0.1:1", "127.0.0.1:2", "127.0.0.1:3"}
	for hung := range 4 {
		h := hostsOf(t, nil, servers...)
		for try := range 2 {
			for _, s := range servers[:hung] {
				h.hangs(s)
			}
			first, then := make(map[string]bool), make(map[string]bool)
			var pauses []time.Duration
			for range 40 {
				server, wait := h.Next()
				if wait {
					break
				}
				if len(pauses) < shortRounds {
					first[server] = true
				}
				if _, d := h.due(); d > 0 {
					pauses = append(pauses, d)
				}
			}
			if _, d := h.due(); len(pauses) != shortRounds || pauses[0] != firstRound || pauses[shortRounds-1] != firstRound<<(shortRounds-1) || d != 0 {
				t.Errorf("%d hang, try %d: pauses %v, %v", hung, try, pauses, d)
			}
			for i, s := range servers {
				if want := i >= hung || hung == len(servers); first[s] != want {
					t.Errorf("%d hang, try %d: server %d was tried in the first rounds: %t, want %t", hung, try, i, first[s], want)
				}
			}
			for range 2 * len(servers) { // after the first rounds
				server, _ := h.Next()
				then[server] = true
			}
			if len(then) != len(servers) {
				t.Errorf("%d hang, try %d: %v are tried after the first rounds, want all", hung, try, then)
			}
			h.Connected()
		}
	}
}

func TestHandshakeWait(t *testing.T) {
	for _, c := range []struct {
		timeout time.Duration
		hung    int
		want    time.Duration
	}{
		{10 * time.Second, 0, 1250 * time.Millisecond}, {10 * time.Second, 1, 2500 * time.Millisecond},
		{10 * time.Second, 2, 10 * time.Second / 3}, {10 * time.Second, 1000, 10 * time.Second / 3},
		{4 * time.Second, 0, 500 * time.Millisecond}, {time.Second, 0, time.Second / 3}, {100 * time.Millisecond, 0, 200 * time.Millisecond},
	} {
		if got := handshakeWait(c.timeout, c.hung); got != c.want {
			t.Errorf("session %v, %d hung: %v, want %v", c.timeout, c.hung, got, c.want)
		}
	}
}

// TestLastServer: the server of the last session is tried after all others, and a wait.
func TestLastServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := hostsOf(t, nil, "127.0.0.1:1", "127.0.0.1:2", "127.0.0.1:3")
		last, _ := h.Next()
		h.Connected()
		time.Sleep(hasty)
		for range 20 {
			if server, _ := h.Next(); server == last {
				t.Fatalf("after a session with %s it is tried first", last)
			}
			if _, pause := h.due(); pause != 0 {
				t.Errorf("a wait of %v before another server", pause)
			}
			h.Next()
			h.Next()
			if _, pause := h.due(); pause != firstRound {
				t.Errorf("a wait of %v when all others have been tried, want %v", pause, firstRound)
			}
			last = h.now.address
			h.Connected()
			time.Sleep(hasty)
		}
		for range 3 {
			h.Next()
			h.Connected()
		}
		h.Next()
		if _, pause := h.due(); pause != firstRound {
			t.Errorf("a wait of %v after short sessions, want %v", pause, firstRound)
		}
	})
}

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

func roundOf(h *hosts) (addrs []string, errs []error) {
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
		for host, want := range map[string]bool{"zk:2181": true, "127.0.0.1:2181": false} {
			if z := (&Conn{hosts: hostsOf(t, nil, host)}); z.Elsewhere() != want {
				t.Errorf("%s may lead to several servers: %t, want %t", host, !want, want)
			}
		}
		expect := func(what string, failed int, want ...string) {
			t.Helper()
			began := time.Now()
			addrs, errs := roundOf(h)
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
		if addrs, errs := roundOf(hostsOf(t, z.lookup, "zk:2181")); len(addrs) != 0 || len(errs) != 1 || !errors.Is(errs[0], errNoHost) {
			t.Errorf("a first lookup, slow and without an answer: %v, %v", addrs, errs)
		}
		if addrs, errs := roundOf(hostsOf(t, z.lookup, "gone:2181")); len(addrs) != 1 || len(errs) != 0 {
			t.Errorf("a first lookup that is slow: %v, %v", addrs, errs)
		}
	})
}

// TestUnreachable: a server without a connection counts as hung.
func TestUnreachable(t *testing.T) {
	z := &Conn{hosts: hostsOf(t, nil, "127.0.0.1:1"), dialing: t.Context()}
	z.hosts.Next()
	if _, err := z.dialer(nil)("", "", time.Second); err == nil || !z.hosts.hung["127.0.0.1:1"] {
		t.Errorf("error is %v, and %v are hung", err, z.hosts.hung)
	}
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

func TestParseServers(t *testing.T) {
	for addr, want := range map[string]string{
		"zk-0": "zk-0:2181", "zk-0.example.org.:1": "zk-0.example.org.:1",
		"127.0.0.1": "127.0.0.1:2181", "127.0.0.1:65535": "127.0.0.1:65535",
		"[::1]": "[::1]:2181", "[fe80::1%eth0]:2182": "[fe80::1%eth0]:2182",
	} {
		if all, err := parseServers([]string{addr}); err != nil || all[0].String() != want {
			t.Errorf("%q = %v, %v, want %s", addr, all, err, want)
		}
	}
	for addr, why := range map[string]string{
		"": "host:port", ":2181": "host:port", ".:2181": "host:port", " zk-0:2181": "host:port", "me@zk-0:2181": "host:port",
		"a:b:2181": "[host]:port", "::1": "[host]:port", "::1:2181": "[host]:port",
		"zk-0:2181/app": "chroot", "zk-0:2181,zk-1:2181": "one server", "zookeeper://zk-0": "URL",
		"zk-0:": "1 to 65535", "zk-0:0": "1 to 65535", "zk-0:65536": "1 to 65535", "zk-0:-1": "1 to 65535", "zk-0:zookeeper": "1 to 65535",
	} {
		if err := CheckServers([]string{"127.0.0.1:2181", addr}); err == nil || !strings.Contains(err.Error(), why) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: %v, want an error of one line about %q", addr, err, why)
		}
	}
	if CheckServers(nil) == nil {
		t.Error("no server is fine")
	}
}
