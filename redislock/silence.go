package redislock

import (
	"context"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	// askSilence is the wait after which a Lock asks on another connection, or the library's
	// read timeout if that is longer and requests ignore their context.
	askSilence = 2 * time.Second

	// maxAfresh bounds a client's concurrent requests on new connections.
	maxAfresh = 32
)

// answered calls first, which sends a release of the lock called name. Without an answer
// within silence the connections may be dead: it calls second with a context that sends the
// request to the same server on a new connection. The first answer to either counts, unless
// the client library has ended the first request with its context.
func answered[T any](ctx context.Context, c *Client, name string, silence time.Duration, first, second func(context.Context) (T, error)) (T, error) {
	if c.prompt {
		short, cancel := context.WithTimeout(ctx, silence)
		defer cancel()
		v, err := first(short)
		if err == nil || short.Err() == nil || ctx.Err() != nil {
			return v, err
		}
		return again(ctx, c, name, second, v, err)
	}
	type answer struct {
		v   T
		err error
	}
	answers := make(chan answer, 2)
	send := func(f func() (T, error)) bool {
		return c.spawn(func() {
			v, err := f()
			answers <- answer{v, err}
		})
	}
	if !send(func() (T, error) { return first(ctx) }) {
		var none T
		return none, ErrClosed
	}
	select {
	case a := <-answers:
		return a.v, a.err
	case <-time.After(silence):
	}
	two := ctx.Err() == nil && send(func() (T, error) {
		var none T
		return again(ctx, c, name, second, none, fmt.Errorf("no answer for %v", silence))
	})
	a := <-answers
	if a.err != nil && !refused(a.err) && two && ctx.Err() == nil {
		a = <-answers
	}
	return a.v, a.err
}

func again[T any](ctx context.Context, c *Client, name string, second func(context.Context) (T, error), v T, err error) (T, error) {
	rdb := c.serverOf(name)
	defer c.fresh.Add(-1)
	if c.fresh.Add(1) <= maxAfresh && rdb != nil {
		c.afresh(rdb, func(fresh redis.UniversalClient) { v, err = second(by(ctx, fresh)) })
	}
	return v, err
}

// ask sends a request for a lock. Without an answer for a while it abandons the request and
// repeats it on a new connection; the script must recognize that. Unless abandoned, the first
// could take the lock again after the lock of the second was released.
func (c *Client) ask(ctx context.Context, request call) *redis.Cmd {
	short, cancel := context.WithTimeout(ctx, askSilence)
	defer cancel()
	reply := request.run(short, c.rdb)
	err := reply.Err()
	if err == nil || refused(err) || short.Err() == nil || ctx.Err() != nil {
		return reply
	}
	reply, _ = again(ctx, c, request.keys[0], func(ctx context.Context) (*redis.Cmd, error) {
		reply := request.run(ctx, c.rdb)
		return reply, reply.Err()
	}, reply, err)
	return reply
}

// serverOf returns the client for the server that has key, nil if unknown.
func (c *Client) serverOf(key string) *redis.Client {
	var rdb *redis.Client
	var err error
	switch all := c.rdb.(type) {
	case *redis.Client:
		return all
	case *redis.ClusterClient:
		rdb, err = all.MasterForKey(c.open, key)
	case *redis.Ring:
		rdb, err = all.GetShardClientForKey(key)
	}
	if err != nil {
		return nil
	}
	return rdb
}

// afresh calls f with a client for the server of rdb without connections, closed afterwards.
func (c *Client) afresh(rdb *redis.Client, f func(redis.UniversalClient)) {
	o := *rdb.Options()
	o.PoolSize, o.MaxActiveConns, o.MinIdleConns, o.MaxRetries = 1, 0, 0, -1
	o.ContextTimeoutEnabled = true
	o.MaintNotificationsConfig = quietMaintenance()
	fresh := redis.NewClient(&o)
	defer fresh.Close()
	defer context.AfterFunc(c.open, func() { fresh.Close() })()
	f(fresh)
}

type serverKey struct{}

// by returns a context for a repeated request to rdb, which may have been sent before.
func by(ctx context.Context, rdb redis.UniversalClient) context.Context {
	return context.WithValue(ctx, serverKey{}, rdb)
}

func resent(ctx context.Context) redis.UniversalClient {
	rdb, _ := ctx.Value(serverKey{}).(redis.UniversalClient)
	return rdb
}
