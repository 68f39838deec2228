package lab

import (
	"slices"

	"locklab/harness"
	"locklab/zklock"
	"locklab/zklock/internal/recipe"
)

// rwCurator is the protocol of Curator's InterProcessReadWriteLock: the queue of zk-rw, but a
// reader watches the first writer of all, and an owner may take again what it holds.
//
//  1. Create a ticket called _c_<unique>-__READ__<number> or …-__WRIT__<number>.
//  2. List the tickets. A reader holds the lock if no writer is ahead; a writer if no ticket is.
//  3. A reader watches the first writer in line, a writer the nearest ticket of either kind. If
//     it is gone already, go to 2.
//  4. When the watch fires, go to 2.
//
// A reader behind K writers wakes K times, each time with all readers, so requests and watch
// events grow with the number of writers. It is a baseline for rw, which excludes others on the
// path in the same way. Its tokens are the zxids of the last change to the queue that the holder
// saw when it got in. They rise, but not always past the tokens of rw on the same path.
//
// A writer may also read, by a ticket with the number of its write ticket, which keeps its place
// when the write ticket goes (CURATOR-621, after 5.4.0). A reader that asks to write waits for
// itself in Curator; here it is refused.
//
// # References
//
// Apache Curator 5.4.0, org.apache.curator.framework.recipes.locks, InterProcessReadWriteLock.
var rwCurator = &harness.Variant{
	Name:   "zk-rw-curator",
	Doc:    "the protocol of Curator's InterProcessReadWriteLock: a reader watches the first writer of all",
	Paper:  "Apache Curator 5.4.0, InterProcessReadWriteLock",
	Traits: harness.Traits{FIFO: true, ReadWrite: true, Reentrant: true, Fenced: true},
	Remote: owners(func(c *zklock.Client, path string) func() locker {
		m := WatchFirst(c.RWMutex(path, zklock.Options{}))
		return func() locker { return m.Owner() }
	}),
}

// The ticket kinds of zk-rw and Curator.
const (
	readKind  = "__READ__"
	writeKind = "__WRIT__"
)

// WatchFirst makes m follow Curator's rule for watches, and returns it.
func WatchFirst(m *zklock.RWMutex) *zklock.RWMutex {
	recipe.Engine.RWMutex(m,
		recipe.Recipe{Kind: writeKind, Look: Behind(recipe.Nearest, readKind, writeKind)},
		recipe.Recipe{Kind: readKind, Look: Behind(firstWrite, readKind, writeKind)})
	return m
}

func firstWrite(line []recipe.Place, i int) int {
	return slices.IndexFunc(line[:i], func(p recipe.Place) bool { return p.Kind == writeKind })
}
