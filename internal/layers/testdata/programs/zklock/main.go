// A program that uses a lock kept by ZooKeeper, if there is a server.
package main

import (
	"context"
	"time"

	"locklab/zklock"
)

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Millisecond)
	defer cancel()
	c, err := zklock.Dial(ctx, []string{"127.0.0.1:1"}, zklock.ClientOptions{})
	if err != nil {
		println(err.Error())
		return
	}
	defer c.Close()
	err = zklock.Do(ctx, c.Mutex("/locks/one", zklock.Options{}), func(context.Context, *zklock.Lease) error { return nil })
	println(err == nil)
}
