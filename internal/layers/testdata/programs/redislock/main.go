// A program that uses a Redis lock.
package main

import (
	"context"

	"github.com/redis/go-redis/v9"

	"locklab/redislock"
)

func main() {
	locks := redislock.NewClient(redis.NewClient(&redis.Options{Addr: "127.0.0.1:6379"}), redislock.ClientOptions{})
	defer locks.Close()
	err := redislock.Do(context.Background(), locks.Mutex("a", redislock.Options{}), func(context.Context, *redislock.Lease) error {
		println("held")
		return nil
	})
	println(err)
}
