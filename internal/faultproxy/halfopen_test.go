package faultproxy_test

import (
	"errors"
	"io"
	"net"
	"os"
	"testing"
	"time"

	"locklab/internal/faultproxy"
)

func TestHalfOpen(t *testing.T) {
	for _, c := range []struct {
		name string
		cut  func(p *faultproxy.Proxy, client net.Conn)
		heal func(p *faultproxy.Proxy)
	}{
		{"black hole", func(p *faultproxy.Proxy, client net.Conn) { p.Partition(true); client.Close() }, func(p *faultproxy.Proxy) { p.Partition(false) }},
		{"client's side", func(p *faultproxy.Proxy, _ net.Conn) { p.HalfClose() }, (*faultproxy.Proxy).Reset},
	} {
		t.Run(c.name, func(t *testing.T) {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			p, err := faultproxy.New(l.Addr().String(), faultproxy.Unread, faultproxy.Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer p.Close()
			client, err := net.Dial("tcp", p.Addr())
			if err != nil {
				t.Fatal(err)
			}
			defer client.Close()
			server, err := l.Accept()
			if err != nil {
				t.Fatal(err)
			}
			defer server.Close()
			b := make([]byte, 1)
			if _, err := client.Write(b); err != nil {
				t.Fatal(err)
			}
			if _, err := io.ReadFull(server, b); err != nil {
				t.Fatal(err)
			}
			c.cut(p, client)
			if _, err := client.Read(b); err == nil {
				t.Error("the client can read")
			}
			server.SetReadDeadline(time.Now().Add(200 * time.Millisecond))
			if _, err := server.Read(b); !errors.Is(err, os.ErrDeadlineExceeded) {
				t.Errorf("the server hears of it: %v", err)
			}
			if _, err := server.Write(b); err != nil {
				t.Errorf("the server cannot write: %v", err)
			}
			c.heal(p)
			server.SetReadDeadline(time.Now().Add(10 * time.Second))
			if _, err := server.Read(b); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
				t.Errorf("the server does not hear of the end: %v", err)
			}
		})
	}
}

func TestAwait(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	l.Close()
	p, err := faultproxy.New(addr, faultproxy.Unread, faultproxy.Options{Await: 10 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	client, err := net.Dial("tcp", p.Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	time.Sleep(50 * time.Millisecond)
	if l, err = net.Listen("tcp", addr); err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	server, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	server.Close()
}
