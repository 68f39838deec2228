package faultproxy_test

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"locklab/harness"
	"locklab/harness/locktest"
	"locklab/internal/backend"
	"locklab/internal/faultproxy"
	"locklab/internal/leaktest"
)

func checkForget(t *testing.T, addr string) {
	p, direct := startProxy(t, addr, faultproxy.Redis, nil), connectTalk(t, addr)
	key := newKey()
	c, waiting := connectTalk(t, p.Addr()), connectTalk(t, p.Addr())
	c.must(t, "+PONG", "PING")
	waiting.Write(encodeCommands("BLPOP %s 0", key))
	for p.Seen("blpop") == 0 {
		time.Sleep(time.Millisecond)
	}
	p.Forget()
	requireSilent(t, c, "INCR "+key)
	direct.must(t, "$-1", "GET %s", key) // no request arrives
	next := connectTalk(t, p.Addr())
	for {
		next.must(t, ":1", "RPUSH %s x", key) // a reply for the waiting connection
		if n, err := next.say("LLEN %s", key); err != nil || n == ":0\r\n" {
			break
		}
		next.must(t, ":1", "DEL %s", key) // it may only start to wait now
	}
	waiting.SetDeadline(time.Now().Add(aWhile))
	if line, err := waiting.ReadString('\n'); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("a reply arrives: %q, %v", line, err)
	}
	p.Partition(true)
	p.Partition(false) // heals only the other connections
	requireSilent(t, c, "PING")
	i := p.Inject(faultproxy.Fault{Match: faultproxy.Op("ping")})
	requireSilent(t, c, "PING")
	connectTalk(t, p.Addr()).broken(t, "PING")
	awaitInjection(t, i)
	p.Reset()
	c.broken(t, "PING")
}

func TestRedirect(t *testing.T) {
	leaktest.All(t)
	s, err := backend.StartSetup(t.Context(), harness.KindRedis, backend.Setup{Independent: 2})
	locktest.RequireServers(t, harness.KindRedis, err)
	defer s.Stop()
	if !s.Owned() {
		t.Skip("there may be one server only")
	}
	a, b := s.Endpoint().Addrs[0][0], s.Endpoint().Addrs[1][0]
	key := newKey()
	for addr, value := range map[string]string{a: "5", b: "9"} {
		connectTalk(t, addr).must(t, "+OK", "SET %s %s", key, value)
	}
	p := startProxy(t, a, faultproxy.Redis, nil)
	old := connectTalk(t, p.Addr())
	old.must(t, ":6", "INCR %s", key)
	p.Redirect(b)
	connectTalk(t, p.Addr()).must(t, ":10", "INCR %s", key)
	old.must(t, ":7", "INCR %s", key)
	p.Reset()
	old.broken(t, "PING")
	connectTalk(t, p.Addr()).must(t, ":11", "INCR %s", key)
}

func TestRedirectWhileDialling(t *testing.T) {
	addr := redisAt(t)
	nothing := listenLocal(t)
	nothing.Close()
	p, err := faultproxy.New(nothing.Addr().String(), faultproxy.Redis, faultproxy.Options{Await: patience})
	requireNoError(t, err)
	defer p.Close()
	c := connectTalk(t, p.Addr())
	time.Sleep(30 * time.Millisecond)
	p.Redirect(addr)
	c.must(t, "+PONG", "PING")
}

func checkJitter(t *testing.T, addr string) {
	const most, n = 40 * time.Millisecond, 12
	for _, d := range []faultproxy.Direction{faultproxy.Request, faultproxy.Reply} {
		p := startProxy(t, addr, faultproxy.Redis, nil)
		c := connectTalk(t, p.Addr())
		c.must(t, "+PONG", "PING")
		p.Jitter(d, most)
		began := time.Now()
		for range n {
			c.must(t, "+PONG", "PING")
		}
		if took := time.Since(began); took < n*most/8 { // once in a million runs
			t.Errorf("%v: %d replies in %v, want %v each on average", d, n, took, most/2)
		}
		key := newKey()
		c.Write(encodeCommands(strings.Repeat("INCR %[1]s\n", n), key))
		for i := range n {
			c.next(t, fmt.Sprintf(":%d", i+1))
		}
		c.must(t, ":1", "DEL %s", key)
		p.Jitter(d, time.Hour)
		requireSilent(t, c, "PING")
		p.Jitter(d, 0)
		connectTalk(t, p.Addr()).must(t, "+PONG", "PING")
	}
}
