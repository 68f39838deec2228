package redislock_test

import (
	"context"
	"fmt"
	"log"

	"github.com/redis/go-redis/v9"

	"locklab/redislock"
)

func ExampleReentrant() {
	client := redis.NewClient(&redis.Options{Addr: address})
	defer client.Close()
	locks := redislock.NewClient(client, redislock.ClientOptions{})
	defer locks.Close()
	ctx := context.Background()

	// The same lock as redisson.getLock("locklab:{example}") of a Java service.
	m := locks.Reentrant("locklab:{example}", redislock.Options{})
	o := m.Owner() // pass it to everything that works for this owner
	step := func(ctx context.Context) error {
		return redislock.Do(ctx, o, func(context.Context, *redislock.Lease) error {
			fmt.Println("a step, alone")
			return nil
		})
	}
	err := redislock.Do(ctx, o, func(ctx context.Context, _ *redislock.Lease) error {
		if err := step(ctx); err != nil {
			return err
		}
		return step(ctx)
	})
	if err != nil {
		log.Fatal(err)
	}
}
