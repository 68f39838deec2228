package faultproxy_test

import (
	"bufio"
	"fmt"
	"net"
	"testing"

	"locklab/harness"
	"locklab/harness/locktest"
	"locklab/internal/faultproxy"
)

func BenchmarkPing(b *testing.B) {
	addr := locktest.Endpoint(b, harness.KindRedis).Addrs[0][0]
	p, err := faultproxy.New(addr, faultproxy.Redis, faultproxy.Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer p.Close()
	for _, way := range []struct{ name, addr string }{{"direct", addr}, {"proxy", p.Addr()}} {
		b.Run("way="+way.name, func(b *testing.B) {
			c, err := net.Dial("tcp", way.addr)
			if err != nil {
				b.Fatal(err)
			}
			defer c.Close()
			r := bufio.NewReader(c)
			for b.Loop() {
				fmt.Fprint(c, "PING\r\n")
				if line, err := r.ReadString('\n'); line != "+PONG\r\n" {
					b.Fatal(line, err)
				}
			}
		})
	}
}
