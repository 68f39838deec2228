package faultproxy_test

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"locklab/harness"
	"locklab/harness/locktest"
	"locklab/internal/faultproxy"
	"locklab/internal/require"
)

// patience limits the wait for something that must happen, aWhile for the opposite.
const (
	patience = 20 * time.Second
	aWhile   = 150 * time.Millisecond
)

type log struct {
	mu   sync.Mutex
	seen []faultproxy.Sighting
}

func (l *log) observe(s faultproxy.Sighting) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.seen = append(l.seen, s)
}

func (l *log) all() []faultproxy.Sighting {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]faultproxy.Sighting(nil), l.seen...)
}

func startProxy(t *testing.T, to string, framing func() faultproxy.Framing, l *log) *faultproxy.Proxy {
	t.Helper()
	var o faultproxy.Options
	if l != nil {
		o.Observe = l.observe
	}
	p, err := faultproxy.New(to, framing, o)
	requireNoError(t, err)
	t.Cleanup(func() { p.Close() })
	return p
}

type talk struct {
	net.Conn
	*bufio.Reader
}

func (c *talk) Read(p []byte) (int, error) { return c.Reader.Read(p) }

func connectTalk(t *testing.T, addr string) *talk {
	t.Helper()
	c, err := openTalk(addr)
	requireNoError(t, err)
	t.Cleanup(func() { c.Close() })
	return c
}

func openTalk(addr string) (*talk, error) {
	c, err := net.DialTimeout("tcp", addr, patience)
	if err != nil {
		return nil, err
	}
	c.SetDeadline(time.Now().Add(patience))
	return &talk{c, bufio.NewReader(c)}, nil
}

// encodeCommands returns the commands in the lines of a text as a client sends them.
func encodeCommands(format string, args ...any) (out []byte) {
	for line := range strings.Lines(fmt.Sprintf(format, args...)) {
		words := strings.Fields(line)
		out = fmt.Appendf(out, "*%d\r\n", len(words))
		for _, w := range words {
			out = fmt.Appendf(out, "$%d\r\n%s\r\n", len(w), w)
		}
	}
	return out
}

func (c *talk) say(format string, args ...any) (string, error) {
	if _, err := c.Write(encodeCommands(format, args...)); err != nil {
		return "", err
	}
	line, err := c.ReadString('\n')
	return line, err
}

func (c *talk) must(t *testing.T, want, format string, args ...any) {
	t.Helper()
	if got, err := c.say(format, args...); err != nil || got != want+"\r\n" {
		t.Fatalf("%s: %q, %v; want %q", fmt.Sprintf(format, args...), got, err, want)
	}
}

func (c *talk) next(t *testing.T, want string) {
	t.Helper()
	if got, err := c.ReadString('\n'); err != nil || got != want+"\r\n" {
		t.Fatalf("then %q, %v; want %q", got, err, want)
	}
}

func requireRefused(t *testing.T, addr string) {
	t.Helper()
	c, err := openTalk(addr)
	if errors.Is(err, syscall.ECONNRESET) {
		return
	}
	requireNoError(t, err)
	defer c.Close()
	c.broken(t, "PING")
}

func (c *talk) broken(t *testing.T, format string, args ...any) {
	t.Helper()
	if got, err := c.say(format, args...); !errors.Is(err, syscall.ECONNRESET) && !errors.Is(err, syscall.EPIPE) {
		t.Fatalf("%s: %q, %v; want a reset", fmt.Sprintf(format, args...), got, err)
	}
}

func awaitInjection(t *testing.T, i *faultproxy.Injection) {
	t.Helper()
	select {
	case <-i.Done():
	case <-time.After(patience):
		t.Fatal("the fault does not hit")
	}
}

func redisAt(t *testing.T) string { return locktest.Endpoint(t, harness.KindRedis).Addrs[0][0] }

var requireNoError = require.NoError
