package lab

import (
	"context"
	"errors"
	"fmt"

	"github.com/go-zookeeper/zk"

	"locklab/harness"
	"locklab/zklock"
	"locklab/zklock/internal/recipe"
)

// Follows returns the constructor of a variant whose tickets follow r.
func Follows(r recipe.Recipe) func(context.Context, harness.Endpoint, string) (harness.Remote, error) {
	return remote(func(c *zklock.Client, path string, o zklock.Options) locker {
		return Follow(c.Mutex(path, o), r)
	})
}

// Follow makes m a lock that follows r, and returns it.
func Follow(m *zklock.Mutex, r recipe.Recipe) *zklock.Mutex {
	recipe.Engine.Mutex(m, r)
	return m
}

// Behind returns the Look of a recipe whose queue has tickets of these kinds. The owner of the
// i-th waits for the ticket that obstacle returns, or holds the lock if that is -1.
func Behind(obstacle func(line []recipe.Place, i int) int, kinds ...string) func(recipe.Ticket) (recipe.View, error) {
	return func(t recipe.Ticket) (recipe.View, error) {
		for {
			names, stat, err := t.Conn().Children(t.Dir())
			if gone(err) {
				return recipe.View{Gone: true}, nil
			}
			if err != nil {
				return recipe.View{}, fmt.Errorf("zklock: list %s: %w", t.Dir(), err)
			}
			line, i := t.Line(names, kinds...)
			if i < 0 {
				return recipe.View{Gone: true}, nil
			}
			k := obstacle(line, i)
			if k < 0 {
				return recipe.View{Head: true, Token: uint64(stat.Pzxid)}, nil
			}
			wake, err := t.Watch(line[k].Name)
			if gone(err) {
				continue
			}
			if err != nil {
				return recipe.View{}, fmt.Errorf("zklock: watch %s/%s: %w", t.Dir(), line[k].Name, err)
			}
			return recipe.View{Wake: wake}, nil
		}
	}
}

func gone(err error) bool { return errors.Is(err, zk.ErrNoNode) }
