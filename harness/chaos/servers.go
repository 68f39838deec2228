package chaos

import (
	"fmt"
	"io"
	"log"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/redis/go-redis/v9"

	"locklab/harness"
	"locklab/internal/faultproxy"
)

// Redis returns a client for a scenario's commands to a server. It is closed when the try ends.
func (t *Try) Redis(addr string) *redis.Client {
	c := redis.NewClient(&redis.Options{Addr: addr, MaxRetries: -1, Protocol: 2, DisableIdentity: true})
	t.Defer(func() { c.Close() })
	return c
}

// ZooKeeper returns a session for a scenario's changes to tickets, closed when the try ends.
func (t *Try) ZooKeeper(addrs []string) *zk.Conn {
	c, events, err := zk.Connect(addrs, 10*time.Second, zk.WithLogger(log.New(io.Discard, "", 0)))
	if err != nil {
		check(fmt.Errorf("chaos: %w", err))
	}
	go func() {
		for range events {
		}
	}()
	t.Defer(c.Close)
	return c
}

// Through returns at with a proxy in front of each server, and the proxies in that order.
func (t *Try) Through(at harness.Endpoint) (harness.Endpoint, wire) {
	framing := faultproxy.Redis
	if at.Kind == harness.KindZooKeeper {
		framing = faultproxy.ZooKeeper
	}
	var proxies wire
	addrs := make([][]string, len(at.Addrs))
	for i, list := range at.Addrs {
		for _, addr := range list {
			p := t.proxy(addr, framing, nil)
			proxies = append(proxies, p)
			addrs[i] = append(addrs[i], p.Addr())
		}
	}
	at.Addrs = addrs
	return at, proxies
}

// proxy starts a proxy that ends with the try. see, which may be nil, observes messages.
func (t *Try) proxy(to string, framing func() faultproxy.Framing, see func(faultproxy.Sighting)) *faultproxy.Proxy {
	p, err := faultproxy.New(to, framing, faultproxy.Options{Observe: see})
	if err != nil {
		check(fmt.Errorf("chaos: %w", err))
	}
	t.Defer(func() { p.Close() })
	return p
}
