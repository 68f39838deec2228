// A program that uses a Redis lock, if there is a server.
package main

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"

	"locklab/redislock"
)

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Millisecond)
	defer cancel()
	rdb := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1", ContextTimeoutEnabled: true})
	defer rdb.Close()
	locks := redislock.NewClient(rdb, redislock.ClientOptions{})
	defer locks.Close()
	err := redislock.Do(ctx, locks.Mutex("one", redislock.Options{}), func(context.Context, *redislock.Lease) error { return nil })
	println(err == nil)
}
