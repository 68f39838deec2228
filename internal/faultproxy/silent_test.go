package faultproxy_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"locklab/internal/faultproxy"
	"locklab/internal/leaktest"
)

func checkForget(t *testing.T, addr string) {
	p, direct := startProxy(t, addr, faultproxy.Redis, nil), connectTalk(t, addr)
	key := newKey()
	c := connectTalk(t, p.Addr())
	c.must(t, "+PONG", "PING")
	p.Forget()
	requireSilent(t, c, "INCR "+key)
	direct.must(t, "$-1", "GET %s", key) // no request arrives
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
	a, b := listenLocal(t), listenLocal(t)
	p := startProxy(t, a.Addr().String(), faultproxy.Unread, nil)
	client, server := connectThrough(t, p, a)
	p.Redirect(b.Addr().String())
	moved, _ := connectThrough(t, p, b)
	passByte(t, client, server)
	p.Reset()
	client.broken(t, "PING")
	moved.broken(t, "PING")
	connectThrough(t, p, b)
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
