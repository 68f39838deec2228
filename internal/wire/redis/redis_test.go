package redis_test

import (
	"crypto/tls"
	"errors"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"locklab/harness"
	"locklab/harness/locktest"
	"locklab/internal/leaktest"
	"locklab/internal/require"
	wireredis "locklab/internal/wire/redis"
)

func TestRedisCounts(t *testing.T) {
	at := locktest.Endpoint(t, harness.KindRedis)
	leaktest.All(t)
	client, counter, err := wireredis.Connect(at)
	require.NoError(t, err)
	defer client.Close()
	ctx := t.Context()
	expect := func(what string, want harness.Counts) {
		t.Helper()
		require.Equal(t, "counts after "+what, counter.Counts(), want)
	}
	key := "locklab:wire-test:" + t.Name()
	must := func(err error) {
		t.Helper()
		if err != nil && !errors.Is(err, redis.Nil) {
			t.Fatal(err)
		}
	}
	must(client.Set(ctx, key, "x", time.Minute).Err())
	expect("one command on a new connection", harness.Counts{Requests: 1})
	_, err = client.Pipelined(ctx, func(p redis.Pipeliner) error {
		p.Get(ctx, key)
		p.Get(ctx, key)
		p.Del(ctx, key)
		return nil
	})
	must(err)
	expect("three commands in a pipeline", harness.Counts{Requests: 4})
	must(client.Get(ctx, key).Err()) // missing, with an ordinary reply
	expect("a missing key", harness.Counts{Requests: 5})
	// The hooks of go-redis miss subscriptions, and clients that a library makes with the same
	// options.
	copied := *client.Options()
	other := redis.NewClient(&copied)
	defer other.Close()
	channel := other.Subscribe(ctx, key)
	defer channel.Close()
	_, err = channel.Receive(ctx)
	must(err)
	expect("a subscription", harness.Counts{Requests: 6})
	must(client.Publish(ctx, key, "message").Err())
	_, err = channel.Receive(ctx)
	must(err)
	expect("a message", harness.Counts{Requests: 7, Notifications: 1})
	must(channel.Unsubscribe(ctx, key))
	_, err = channel.Receive(ctx)
	must(err)
	expect("the end of the subscription", harness.Counts{Requests: 8, Notifications: 1})
}

// TestOptions: the client has the endpoint's TLS configuration and credentials; redislock's tests
// use them with a server.
func TestOptions(t *testing.T) {
	at := harness.Endpoint{Kind: harness.KindRedis, Addrs: [][]string{{"127.0.0.1:1"}}, TLS: &tls.Config{MinVersion: tls.VersionTLS13}, Username: "user", Password: "secret"}
	client, _, err := wireredis.Connect(at)
	require.NoError(t, err)
	defer client.Close()
	o := client.Options()
	if o.TLSConfig == nil || o.TLSConfig.MinVersion != tls.VersionTLS13 || o.Username != "user" || o.Password != "secret" {
		t.Errorf("the client's TLS configuration is %+v, its credentials are %s and %s", o.TLSConfig, o.Username, o.Password)
	}
}

func TestEndpointMistakes(t *testing.T) {
	for _, at := range []harness.Endpoint{
		{},
		{Kind: harness.KindZooKeeper, Addrs: [][]string{{"127.0.0.1:1"}}},
		{Kind: harness.KindRedis},
		{Kind: harness.KindRedis, Addrs: [][]string{{}}},
		{Kind: harness.KindRedis, Addrs: [][]string{{"127.0.0.1:1", "127.0.0.1:2"}}},
		{Kind: harness.KindRedis, Cluster: true, Addrs: [][]string{{"127.0.0.1:1", "127.0.0.1:2"}}},
	} {
		if _, _, err := wireredis.Connect(at); !errors.Is(err, harness.ErrUsage) {
			t.Errorf("Connect(%+v) = %v, want ErrUsage", at, err)
		}
	}
}
