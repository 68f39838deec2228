package zklock_test

import (
	"locklab/harness"
	"locklab/zklock"
	"locklab/zklock/internal/recipe"
	"locklab/zklock/lab"
)

func counts(c *zklock.Client) harness.Counts {
	s := c.Stats()
	return harness.Counts{Requests: s.Requests, Notifications: s.Notifications}
}

func depth(s harness.Session) int { return s.(interface{ Depth() int }).Depth() }

// naiveSemaphore's waiters watch the ticket that is ahead by the number of permits.
var naiveSemaphore = &harness.Variant{
	Name: "naive", Doc: "watches the wrong ticket", Paper: "none", Family: harness.ZooKeeper, Status: harness.Broken,
	Traits: harness.Traits{Permits: 2, Needs: harness.KindZooKeeper},
	Remote: lab.Follows(recipe.Recipe{Kind: "permit-", Look: lab.Behind(
		func(_ []recipe.Place, i int) int { return max(-1, i-2) }, "permit-")}),
}

func firstWriteRWMutex(c *zklock.Client, path string) *zklock.RWMutex {
	return lab.WatchFirst(c.RWMutex(path, zklock.Options{}))
}

func blindRWMutex(c *zklock.Client, path string) *zklock.RWMutex {
	m := c.RWMutex(path, zklock.Options{})
	none := func([]recipe.Place, int) int { return -1 }
	const read, write = "__READ__", "__WRIT__"
	recipe.Engine.RWMutex(m, recipe.Recipe{Kind: write, Look: lab.Behind(recipe.Nearest, read, write)},
		recipe.Recipe{Kind: read, Look: lab.Behind(none, read, write)})
	return m
}
