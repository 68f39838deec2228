// A program that uses a lock kept by ZooKeeper.
package main

import (
	"context"

	"locklab/zklock"
)

func main() {
	ctx := context.Background()
	c, err := zklock.Dial(ctx, []string{"127.0.0.1:2181"}, zklock.ClientOptions{})
	if err != nil {
		panic(err)
	}
	defer c.Close()
	err = zklock.Do(ctx, c.Mutex("/locks/one", zklock.Options{}), func(context.Context, *zklock.Lease) error { return nil })
	println(err == nil)
}
