package redislock

import (
	"context"
	"net"
	"testing"

	"github.com/redis/go-redis/v9"
)

// TestWatched: only connections whose server may be replaced are checked.
func TestWatched(t *testing.T) {
	dial := func(context.Context, string, string) (net.Conn, error) {
		conn, _ := net.Pipe() // neither end writes
		return conn, nil
	}
	for _, test := range []struct {
		name string
		rdb  redis.UniversalClient
		want bool
	}{
		{"one server", redis.NewClient(&redis.Options{Addr: "redis:6379", Dialer: dial}), false},
		{"by Sentinel", redis.NewClient(&redis.Options{Addr: byFailover, Dialer: dial}), true},
		{"cluster", redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{"redis:6379"}, Dialer: dial}), true},
	} {
		t.Run(test.name, func(t *testing.T) {
			defer test.rdb.Close()
			c := NewClient(test.rdb, ClientOptions{})
			defer c.Close()
			listener, err := c.listener()
			if err != nil {
				t.Fatal(err)
			}
			var by dialFunc
			switch l := listener.(type) {
			case *redis.Client:
				by = l.Options().Dialer
			case *redis.ClusterClient:
				by = l.Options().Dialer
			}
			conn, err := by(t.Context(), "tcp", "redis:6379")
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			if _, got := conn.(*watched); got != test.want {
				t.Errorf("a connection is checked: %t, want %t", got, test.want)
			}
		})
	}
}
