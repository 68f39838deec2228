package faultproxy_test

import (
	"errors"
	"io"
	"net"
	"os"
	"testing"
	"time"

	"locklab/internal/faultproxy"
	"locklab/internal/leaktest"
)

func connectThrough(t *testing.T, p *faultproxy.Proxy, l net.Listener) (client *talk, server net.Conn) {
	t.Helper()
	client = connectTalk(t, p.Addr())
	server, err := l.Accept()
	requireNoError(t, err)
	t.Cleanup(func() { server.Close() })
	passByte(t, client, server)
	return client, server
}

func passByte(t *testing.T, from, to net.Conn) {
	t.Helper()
	b := []byte{1}
	_, err := from.Write(b)
	requireNoError(t, err)
	_, err = io.ReadFull(to, b)
	requireNoError(t, err)
}

func listenLocal(t *testing.T) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	requireNoError(t, err)
	t.Cleanup(func() { l.Close() })
	return l
}

func requireSilence(t *testing.T, c net.Conn, event string) {
	t.Helper()
	c.SetReadDeadline(time.Now().Add(aWhile))
	if _, err := c.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("the other side sees %s: %v", event, err)
	}
}

func TestHalfOpen(t *testing.T) {
	for _, c := range []struct {
		name string
		cut  func(p *faultproxy.Proxy, client net.Conn)
		heal func(p *faultproxy.Proxy)
	}{
		{"black hole", func(p *faultproxy.Proxy, client net.Conn) { p.BlackHole(faultproxy.Request, true); client.Close() },
			func(p *faultproxy.Proxy) { p.BlackHole(faultproxy.Request, false) }},
		{"client's side", func(p *faultproxy.Proxy, _ net.Conn) { p.HalfClose() }, (*faultproxy.Proxy).Reset},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := listenLocal(t)
			p := startProxy(t, l.Addr().String(), faultproxy.Unread, nil)
			client, server := connectThrough(t, p, l)
			c.cut(p, client)
			b := make([]byte, 1)
			if _, err := client.Read(b); err == nil {
				t.Error("the client can read")
			}
			requireSilence(t, server, "the end")
			if _, err := server.Write(b); err != nil {
				t.Errorf("the server cannot write: %v", err)
			}
			c.heal(p)
			server.SetReadDeadline(time.Now().Add(patience))
			if _, err := server.Read(b); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
				t.Errorf("the server does not see the end: %v", err)
			}
		})
	}
}

// TestForgotten: no side of a silent connection sees the other close, and nothing is left.
func TestForgotten(t *testing.T) {
	leaktest.All(t)
	l := listenLocal(t)
	p := startProxy(t, l.Addr().String(), faultproxy.Unread, nil)
	for _, first := range []string{"client", "server"} {
		client, server := connectThrough(t, p, l)
		closes, other := net.Conn(client), server
		if first == "server" {
			closes, other = server, client
		}
		p.Forget()
		other.Write([]byte{1})
		requireSilence(t, closes, "a message")
		closes.Close()
		requireSilence(t, other, "that the "+first+" has closed")
		if p.Conns() != 1 {
			t.Errorf("%d connections, want the one that is half open", p.Conns())
		}
		other.Close()
		requireNoConns(t, p)
	}
}

func requireNoConns(t *testing.T, p *faultproxy.Proxy) {
	t.Helper()
	for end := time.Now().Add(patience); p.Conns() > 0; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("a connection that both sides have closed is left")
		}
	}
}

// TestReplyAfterLostEnd: the server does not see that the client has closed, and its replies are lost.
func TestReplyAfterLostEnd(t *testing.T) {
	l := listenLocal(t)
	p := startProxy(t, l.Addr().String(), faultproxy.Unread, nil)
	client, server := connectThrough(t, p, l)
	p.BlackHole(faultproxy.Request, true)
	client.Close()
	server.SetDeadline(time.Now().Add(patience))
	if _, err := server.Write(make([]byte, 64<<20)); err != nil { // more than the buffers hold
		t.Error(err)
	}
	server.Close()
	requireNoConns(t, p)
}
