package lab

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-zookeeper/zk"

	"locklab/harness"
	"locklab/zklock"
	"locklab/zklock/internal/recipe"
)

// Follows returns the constructor of a variant whose tickets follow r.
func Follows(r recipe.Recipe) func(context.Context, harness.Endpoint, string) (harness.Remote, error) {
	return remote(func(c *zklock.Client, path string, o zklock.Options) locker {
		m := c.Mutex(path, o)
		recipe.Engine.Mutex(m, r)
		return m
	})
}

// Behind is [recipe.Behind] with a list for each waiter.
func Behind(obstacle func(line []recipe.Place, i int) int, kinds ...string) func(recipe.Ticket) (recipe.View, error) {
	return recipe.Behind(list, obstacle, recipe.Ticket.Watch, kinds...)
}

func list(t recipe.Ticket) ([]string, *zk.Stat, error) { return t.Conn().Children(t.Dir()) }

// look returns the Look of the queue of [recipe.Fair] whose waiters list all of it again after
// period, or when the watch of list fires, if there is one.
func look(list func(recipe.Ticket) ([]string, *zk.Stat, <-chan zk.Event, error), period time.Duration) func(recipe.Ticket) (recipe.View, error) {
	return func(t recipe.Ticket) (recipe.View, error) {
		names, stat, wake, err := list(t)
		if gone(err) {
			return recipe.View{Gone: true}, nil
		}
		if err != nil {
			return recipe.View{}, fmt.Errorf("zklock: list %s: %w", t.Dir(), err)
		}
		_, i := t.Line(names, "lock-")
		return recipe.View{Gone: i < 0, Head: i == 0, Token: uint64(stat.Pzxid), Wake: wake, Again: period}, nil
	}
}

func gone(err error) bool { return errors.Is(err, zk.ErrNoNode) }
