package chaos

import (
	"context"
	"fmt"
	"io"
	"log"
	"slices"
	"strings"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/redis/go-redis/v9"

	"locklab/harness"
	"locklab/internal/faultproxy"
)

// Redis returns a client for a scenario's commands to a server. It is closed when the try
// ends.
func (t *Try) Redis(addr string) *redis.Client {
	c := redis.NewClient(&redis.Options{Addr: addr, MaxRetries: -1, Protocol: 2, DisableIdentity: true})
	t.Defer(func() { c.Close() })
	return c
}

// ZooKeeper returns a session for a scenario's changes to the tickets of locks. It is
// closed when the try ends.
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

// Through returns at with a proxy in front of each server, and the proxies in the order
// of its lists.
func (t *Try) Through(at harness.Endpoint) (harness.Endpoint, []*faultproxy.Proxy, error) {
	framing := faultproxy.Redis
	if at.Kind == harness.KindZooKeeper {
		framing = faultproxy.ZooKeeper
	}
	var proxies []*faultproxy.Proxy
	addrs := make([][]string, len(at.Addrs))
	for i, list := range at.Addrs {
		for _, addr := range list {
			p, err := faultproxy.New(addr, framing, faultproxy.Options{})
			if err != nil {
				return at, nil, fmt.Errorf("chaos: %w", err)
			}
			t.Defer(func() { p.Close() })
			proxies = append(proxies, p)
			addrs[i] = append(addrs[i], p.Addr())
		}
	}
	at.Addrs = addrs
	return at, proxies, nil
}

// Left returns the remains of a lock's clients on their servers: the keys that contain
// its name, or the ephemeral nodes whose path contains it.
func (s *Subject) Left(ctx context.Context, t *Try, at harness.Endpoint) (names []string, err error) {
	if at.Kind == harness.KindZooKeeper {
		return s.leftNodes(t, at)
	}
	for _, list := range at.Addrs {
		c := t.Redis(list[0])
		keys, err := c.Keys(ctx, "*"+s.Key+"*").Result()
		if err != nil {
			return nil, fmt.Errorf("chaos: %w", err)
		}
		names = append(names, keys...)
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

func (s *Subject) leftNodes(t *Try, at harness.Endpoint) (names []string, err error) {
	c := t.ZooKeeper(at.Addrs[0])
	var visit func(path string) error
	visit = func(path string) error {
		children, _, err := c.Children(path)
		if err == zk.ErrNoNode {
			return nil
		}
		if err != nil {
			return fmt.Errorf("chaos: %w", err)
		}
		for _, name := range children {
			below := strings.TrimSuffix(path, "/") + "/" + name
			_, stat, err := c.Exists(below)
			if err != nil {
				return fmt.Errorf("chaos: %w", err)
			}
			if stat != nil && stat.EphemeralOwner != 0 && strings.Contains(below, s.Key) {
				names = append(names, below)
			}
			if path == "/" && name == "zookeeper" {
				continue
			}
			if err := visit(below); err != nil {
				return err
			}
		}
		return nil
	}
	err = visit("/")
	return names, err
}
