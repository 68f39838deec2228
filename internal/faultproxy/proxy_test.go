package faultproxy_test

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"locklab/internal/faultproxy"
	"locklab/internal/leaktest"
)

func TestProxy(t *testing.T) {
	addr := redisAt(t)
	for _, test := range []struct {
		name string
		run  func(t *testing.T, addr string)
	}{
		{"pass", checkPass},
		{"lose the reply", func(t *testing.T, addr string) {
			checkLose(t, addr, faultproxy.LoseReply, faultproxy.Reply, "$1", ":2")
		}},
		{"lose the request", func(t *testing.T, addr string) {
			checkLose(t, addr, faultproxy.LoseRequest, faultproxy.Request, "$-1", ":1")
		}},
		{"skip and repeat", skipAndRepeat},
		{"first come", firstCome},
		{"pipeline", checkPipeline},
		{"black hole for requests", func(t *testing.T, addr string) { dropIncrement(t, addr, faultproxy.Request, "$-1") }},
		{"black hole for replies", func(t *testing.T, addr string) { dropIncrement(t, addr, faultproxy.Reply, "$1", "1") }},
		{"delay", checkDelay},
		{"held back", heldBack},
		{"jitter", checkJitter},
		{"forget", checkForget},
		{"refuse", checkRefuse},
		{"close", closeProxy},
		{"unread", checkUnread},
		{"many", checkMany},
	} {
		t.Run(test.name, func(t *testing.T) {
			leaktest.All(t)
			test.run(t, addr)
		})
	}
}

func newKey() string { return "locklab:faultproxy-test:" + rand.Text() }

func checkPass(t *testing.T, addr string) {
	var l log
	p := startProxy(t, addr, faultproxy.Redis, &l)
	c := connectTalk(t, p.Addr())
	key, big := newKey(), strings.Repeat("x", 200_000)
	c.must(t, "+OK", "SET %s %s PX 60000", key, big)
	c.must(t, "$200000", "GET %s", key)
	got := make([]byte, len(big)+2)
	if _, err := io.ReadFull(c, got); err != nil || string(got) != big+"\r\n" {
		t.Fatalf("what comes back is not what was sent: %v", err)
	}
	c.must(t, ":1", "DEL %s", key)
	if p.Seen("set") != 1 || p.Seen("get") != 1 || p.Seen("del") != 1 || p.Conns() != 1 {
		t.Errorf("seen %d set, %d get, %d del on %d connections", p.Seen("set"), p.Seen("get"), p.Seen("del"), p.Conns())
	}
	var timeline []string
	for _, s := range l.all() {
		timeline = append(timeline, fmt.Sprint(s.Conn, s.Dir, s.Op, s.Call, s.Key == key))
	}
	want := "1 request set 1 true|1 reply set 1 true|1 request get 2 true|1 reply get 2 true|1 request del 3 true|1 reply del 3 true"
	if got := strings.Join(timeline, "|"); strings.ReplaceAll(got, " ", "") != strings.ReplaceAll(want, " ", "") {
		t.Errorf("the observer saw\n%s, want\n%s", got, want)
	}
}

// checkLose loses a message of an INCR in direction d. The server then has value, and again is its
// reply to another INCR.
func checkLose(t *testing.T, addr string, do faultproxy.Action, d faultproxy.Direction, value, again string) {
	var l log
	p, direct := startProxy(t, addr, faultproxy.Redis, &l), connectTalk(t, addr)
	key := newKey()
	c := connectTalk(t, p.Addr())
	i := p.Inject(faultproxy.Fault{Do: do, Match: faultproxy.Op("incr")})
	c.must(t, "+PONG", "PING") // another operation
	c.broken(t, "INCR %s", key)
	awaitInjection(t, i)
	direct.must(t, value, "GET %s", key)
	if s := l.all(); s[len(s)-1].Op != "incr" || s[len(s)-1].Dir != d {
		t.Errorf("the last sighting is %+v", s[len(s)-1])
	}
	connectTalk(t, p.Addr()).must(t, again, "INCR %s", key)
	connectTalk(t, p.Addr()).must(t, ":1", "DEL %s", key)
}

func skipAndRepeat(t *testing.T, addr string) {
	p := startProxy(t, addr, faultproxy.Redis, nil)
	i := p.Inject(faultproxy.Fault{Match: faultproxy.Op("ping"), Skip: 2, Times: 2})
	c := connectTalk(t, p.Addr())
	c.must(t, "+PONG", "PING")
	c.must(t, "+PONG", "PING")
	c.broken(t, "PING")
	connectTalk(t, p.Addr()).broken(t, "PING")
	connectTalk(t, p.Addr()).must(t, "+PONG", "PING")
	awaitInjection(t, i)
	i = p.Inject(faultproxy.Fault{})
	i.Remove()
	i.Remove()
	connectTalk(t, p.Addr()).must(t, "+PONG", "PING")
}

func firstCome(t *testing.T, addr string) {
	p := startProxy(t, addr, faultproxy.Redis, nil)
	a, b := p.Inject(faultproxy.Fault{}), p.Inject(faultproxy.Fault{})
	connectTalk(t, p.Addr()).broken(t, "PING")
	awaitInjection(t, a)
	connectTalk(t, p.Addr()).broken(t, "PING")
	awaitInjection(t, b)
}

func checkPipeline(t *testing.T, addr string) {
	p, direct := startProxy(t, addr, faultproxy.Redis, nil), connectTalk(t, addr)
	key := newKey()
	p.Inject(faultproxy.Fault{Match: faultproxy.Op("incr"), Skip: 2}) // its reply
	c := connectTalk(t, p.Addr())
	c.Write(encodeCommands("INCR %[1]s\nINCR %[1]s\nINCR %[1]s", key))
	if got, err := io.ReadAll(c); string(got) != ":1\r\n:2\r\n" || !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("read %q, %v; want two replies and a reset", got, err)
	}
	direct.must(t, "$1", "GET %s", key)
	direct.next(t, "3")
	direct.must(t, ":1", "DEL %s", key)
}

// dropIncrement drops messages of an INCR in direction d. The server then has value.
func dropIncrement(t *testing.T, addr string, d faultproxy.Direction, value ...string) {
	p, direct := startProxy(t, addr, faultproxy.Redis, nil), connectTalk(t, addr)
	key := newKey()
	idle, c := connectTalk(t, p.Addr()), connectTalk(t, p.Addr())
	idle.must(t, "+PONG", "PING")
	p.BlackHole(d, true)
	requireSilent(t, c, "INCR "+key)
	direct.must(t, value[0], "GET %s", key)
	for _, line := range value[1:] {
		direct.next(t, line)
	}
	p.BlackHole(d, false)
	c.broken(t, "PING")
	idle.must(t, "+PONG", "PING") // it lost nothing
	direct.must(t, fmt.Sprintf(":%d", len(value)-1), "DEL %s", key)
}

func requireSilent(t *testing.T, c *talk, command string) {
	t.Helper()
	c.Write(encodeCommands("%s", command))
	requireSilence(t, c, "a reply")
	c.SetDeadline(time.Now().Add(patience))
}

func checkDelay(t *testing.T, addr string) {
	const by, n = 200 * time.Millisecond, 20
	for _, d := range []faultproxy.Direction{faultproxy.Request, faultproxy.Reply} {
		p := startProxy(t, addr, faultproxy.Redis, nil)
		c := connectTalk(t, p.Addr())
		c.must(t, "+PONG", "PING")
		p.Delay(d, by)
		key, began := newKey(), time.Now()
		c.Write(encodeCommands(strings.Repeat("INCR %[1]s\n", n), key))
		for i := range n {
			c.next(t, fmt.Sprintf(":%d", i+1))
			if took := time.Since(began); took < by {
				t.Errorf("%v: a reply after %v, want %v at least", d, took, by)
			}
		}
		if took := time.Since(began); took > n*by/2 {
			t.Errorf("%v: %d messages together took %v: they waited for each other", d, n, took)
		}
		p.Delay(d, 0)
		began = time.Now()
		c.must(t, ":1", "DEL %s", key)
		if took := time.Since(began); took >= by {
			t.Errorf("%v: %v without delay", d, took)
		}
	}
}

func checkRefuse(t *testing.T, addr string) {
	p := startProxy(t, addr, faultproxy.Redis, nil)
	old := connectTalk(t, p.Addr())
	old.must(t, "+PONG", "PING")
	p.Refuse(true)
	requireRefused(t, p.Addr())
	old.must(t, "+PONG", "PING")
	p.Refuse(false)
	connectTalk(t, p.Addr()).must(t, "+PONG", "PING")
	dead := startProxy(t, p.Addr(), faultproxy.Redis, nil)
	p.Close()
	requireRefused(t, dead.Addr())
}

func closeProxy(t *testing.T, addr string) {
	p := startProxy(t, addr, faultproxy.Redis, nil)
	c := connectTalk(t, p.Addr())
	c.must(t, "+PONG", "PING")
	p.Delay(faultproxy.Reply, time.Hour)
	requireSilent(t, c, "PING")
	p.Close()
	p.Close()
	if p.Conns() != 0 {
		t.Errorf("%d connections after Close", p.Conns())
	}
	c.broken(t, "PING")
	if c, err := net.Dial("tcp", p.Addr()); err == nil {
		c.Close()
		t.Error("it listens after Close")
	}
}

func checkUnread(t *testing.T, addr string) {
	var l log
	p := startProxy(t, addr, faultproxy.ZooKeeper, &l)
	p.Inject(faultproxy.Fault{})
	c := connectTalk(t, p.Addr())
	c.must(t, "+PONG", "PING")
	c.must(t, "+PONG", "PING")
	for _, s := range l.all() {
		if s.Op != "" || s.Call != 0 {
			t.Errorf("it understands %+v", s)
		}
	}
}

func checkMany(t *testing.T, addr string) {
	p, direct := startProxy(t, addr, faultproxy.Redis, nil), connectTalk(t, addr)
	const clients, turns, lost = 8, 50, 20
	key := newKey()
	p.Inject(faultproxy.Fault{Match: faultproxy.Op("incr"), Skip: 100, Times: lost})
	var wg sync.WaitGroup
	for range clients {
		wg.Go(func() {
			for range turns {
				c, err := openTalk(p.Addr())
				if err != nil {
					t.Error(err)
					return
				}
				_, _ = c.say("INCR %s", key) // its reply may be lost
				c.Close()
			}
		})
	}
	wg.Wait()
	// A reply may be lost among others only if they are pipelined. These are not.
	direct.must(t, "$3", "GET %s", key)
	direct.next(t, fmt.Sprint(clients*turns))
	direct.must(t, ":1", "DEL %s", key)
	if got := p.Seen("incr"); got != clients*turns {
		t.Errorf("seen %d, want %d", got, clients*turns)
	}
}

func heldBack(t *testing.T, addr string) {
	const by = 200 * time.Millisecond
	p := startProxy(t, addr, faultproxy.Redis, nil)
	key := newKey()
	p.Delay(faultproxy.Request, by/2)
	i := p.Inject(faultproxy.Fault{Do: faultproxy.HoldBack, By: by / 2, Match: faultproxy.Op("incr")})
	c, other := connectTalk(t, p.Addr()), connectTalk(t, addr)
	began := time.Now()
	c.Write(encodeCommands("INCR %[1]s\nINCR %[1]s", key))
	awaitInjection(t, i)
	c.Close()
	for value := "0"; value != "2"; {
		if line, err := other.say("INCRBY %s 0", key); err != nil {
			t.Fatal(err)
		} else if value = strings.Trim(line, ":\r\n"); value != "0" && time.Since(began) < by {
			t.Fatalf("the request arrived after %v, want %v", time.Since(began), by)
		}
		time.Sleep(time.Millisecond)
	}
	other.must(t, ":1", "DEL %s", key)
}
