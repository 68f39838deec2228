package lab

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/go-zookeeper/zk"

	"locklab/harness"
	"locklab/zklock"
	"locklab/zklock/internal/recipe"
)

func queued(name, doc, paper string, r recipe.Recipe) *harness.Variant {
	return &harness.Variant{
		Name:   name,
		Doc:    doc,
		Paper:  paper,
		Traits: harness.Traits{FIFO: true, Fenced: true},
		Remote: follows(r),
	}
}

func follows(r recipe.Recipe) func(context.Context, harness.Endpoint, string) (harness.Remote, error) {
	return remote(func(c *zklock.Client, path string, o zklock.Options) locker {
		m := c.Mutex(path, o)
		recipe.Engine.Mutex(m, r)
		return m
	})
}

// list lists the tickets with a request of each waiter.
func list(t recipe.Ticket) ([]string, *zk.Stat, error) { return t.Conn().Children(t.Dir()) }

// listAgain returns the Look of the queue of [recipe.Fair] whose waiters list all of it again after
// period, or when the watch of list fires, if there is one.
func listAgain(list func(recipe.Ticket) ([]string, *zk.Stat, <-chan zk.Event, error), period time.Duration) func(recipe.Ticket) (recipe.View, error) {
	return func(t recipe.Ticket) (recipe.View, error) {
		names, stat, wake, err := list(t)
		if gone(err) {
			return recipe.View{Gone: true}, nil
		}
		if err != nil {
			return recipe.View{}, fmt.Errorf("zklock: list %s: %w", t.Dir(), err)
		}
		_, i := t.Line(names)
		return recipe.View{Gone: i < 0, Head: i == 0, Token: uint64(stat.Pzxid), Wake: wake, Again: period}, nil
	}
}

func gone(err error) bool { return errors.Is(err, zk.ErrNoNode) }

// fair is [recipe.Fair], the lock recipe of the ZooKeeper documentation.
//
// # References
//
// Hunt, Konar, Junqueira, Reed, "ZooKeeper: Wait-free coordination for
// internet-scale systems", USENIX ATC 2010, §2.4.
var fair = queued("zk-fair", "queue of ephemeral tickets, each waiter watches the one ahead",
	"Hunt, Konar, Junqueira & Reed 2010", recipe.Fair)

// herd is the same queue as [fair], but every waiter watches the list itself.
//
//  1. Create a ticket, an EPHEMERAL_SEQUENTIAL node.
//  2. List the tickets and watch the list. The owner of the lowest holds the lock.
//  3. When the list changes, go to 2.
//
// Every arrival and departure wakes every waiter, and all of them list again: requests and watch
// events grow with the number of waiters. It is a baseline for fair.
//
// # References
//
// Hunt, Konar, Junqueira, Reed, "ZooKeeper: Wait-free coordination for internet-scale systems",
// USENIX ATC 2010, §2.4, which describes the herd effect and how to avoid it.
var herd = queued("zk-herd", "queue of ephemeral tickets, every waiter watches all of it",
	"Hunt, Konar, Junqueira & Reed 2010",
	recipe.Recipe{Kind: "lock-", Look: listAgain(func(t recipe.Ticket) ([]string, *zk.Stat, <-chan zk.Event, error) {
		return t.Conn().ChildrenW(t.Dir())
	}, 0)})

// poll is the queue of [fair] without watches: every waiter lists it every 5 ms. A handover
// takes up to a period, for a request per waiter and period.
//
//  1. Create a ticket, an EPHEMERAL_SEQUENTIAL node.
//  2. List the tickets. The owner of the lowest holds the lock.
//  3. Sleep for a period and go to 2.
//
// # References
//
// Apache ZooKeeper Programmer's Guide, "ZooKeeper Watches", on their purpose.
var poll = queued("zk-poll", "queue of ephemeral tickets, every waiter lists it every 5 ms instead of watching",
	"ZooKeeper Programmer's Guide",
	recipe.Recipe{Kind: "lock-", Look: listAgain(func(t recipe.Ticket) ([]string, *zk.Stat, <-chan zk.Event, error) {
		names, stat, err := list(t)
		return names, stat, nil, err
	}, 5*time.Millisecond)})

// persistent is [fair] with tickets that do not end with their session. It is equivalent while
// no client dies. The ticket of a client that crashes, or loses its session, stays until it is
// removed by hand: see the failure scenarios holder-crash and middle-waiter-killed.
//
// # References
//
// Apache ZooKeeper Programmer's Guide, "Ephemeral Nodes": the other kind of node, and why
// locks use it.
var persistent = &harness.Variant{
	Name:   "zk-persistent",
	Doc:    "zk-fair with persistent tickets: a crash blocks all others for ever",
	Paper:  "ZooKeeper Programmer's Guide",
	Status: harness.Historical,
	Traits: harness.Traits{FIFO: true, Fenced: true},
	Remote: follows(recipe.Recipe{Kind: "lock-", Look: recipe.Fair.Look, Persistent: true}),
}

// writeLock is the protocol of Apache's own recipe, org.apache.zookeeper.recipes.lock, with its
// two faults fixed. [writeLockHistorical] is the original.
//
//  1. Make sure that the parent exists.
//  2. List the tickets and adopt the own one if a create with a lost reply made it; else create
//     one.
//  3. List the tickets. The owner of the lowest holds the lock.
//  4. Check whether the next lower one exists, and watch it. If it is gone already, go to 3: the
//     original waits for it forever.
//  5. When the watch fires, go to 3.
//
// Tickets have names that are unique to an acquisition: the original's are unique to a session,
// and two locks of one session mistake each other's for their own.
//
// Steps 1 and 2 cost two requests in every acquisition, which [fair] saves by doing them only
// after a failure: five requests alone, seven behind others. An exists watch on a missing ticket
// stays until the client is closed.
//
// # References
//
// Apache ZooKeeper 3.9, zookeeper-recipes-lock, WriteLock.java.
var writeLock = queued("zk-writelock", "Apache's recipe, mended: looks for its parent and for a ticket of its own in every acquisition",
	"zookeeper-recipes-lock", recipe.Recipe{Kind: "lock-", Before: beforeWriteLock, Look: lookExists})

// beforeWriteLock sends the requests of steps 1 and 2. zklock makes a missing parent, and adopts
// a ticket after a lost reply, for every recipe.
func beforeWriteLock(t recipe.Ticket) error {
	if _, _, err := t.Conn().Exists(t.Dir()); err != nil {
		return err
	}
	if _, _, err := list(t); !gone(err) {
		return err
	}
	return nil
}

// lookExists is the Look of [recipe.Fair] with exists instead of getData.
var lookExists = recipe.Behind(list, recipe.Nearest, watchExists)

func watchExists(t recipe.Ticket, name string) (<-chan zk.Event, error) {
	exists, _, wake, err := t.Conn().ExistsW(t.Dir() + "/" + name)
	if err == nil && !exists {
		err = zk.ErrNoNode
	}
	return wake, err
}

// booleanMutex is the protocol of otter's DistributedLock with its faults fixed. A waiter sleeps
// at a gate that the watch on the ticket ahead opens. It lists the queue at least once a minute,
// in case a watch is lost when servers restart. [booleanMutexHistorical] is the original.
//
//  1. Create a ticket, an EPHEMERAL_SEQUENTIAL node; again if it is gone.
//  2. List the tickets. The owner of the lowest holds the lock.
//  3. Check whether the next lower one exists, and watch it. If it is gone, go to 2.
//  4. Wait at the gate, for a minute at most, and go to 2.
//
// Fixed here: each acquisition has its own ticket and gate, instead of each object, so a second
// goroutine waits. No state of an ended session is kept. A failed acquisition removes its
// ticket, also after an unconfirmed create. The minute is a minute. ZooKeeper's client restores
// its watches after a reconnect, so the minute is only a second line of defence.
//
// # References
//
// Alibaba, otter, shared.arbitrate, DistributedLock.java and BooleanMutex.java.
var booleanMutex = queued("zk-boolean-mutex", "otter's lock, mended: waits at a gate that a watch opens, and looks once a minute in any case",
	"otter DistributedLock", recipe.Recipe{Kind: "lock-", Look: func(t recipe.Ticket) (recipe.View, error) {
		v, err := lookExists(t)
		v.Again = time.Minute // the gate opens in any case
		return v, err
	}})

// twoLevel is [zklock.Cohort] without handovers: the goroutines of a client queue in memory,
// and the first takes a ticket at the servers, so the client has one ticket instead of one per
// goroutine. The holder releases the distributed lock first, then the local one.
//
// No order of release lets a busy client starve the others, since a client has one ticket at a
// time. With 49 goroutines in one client and one in another, the single one had 49 % of the
// acquisitions in both orders. Local first was 1.24 times as fast in the median of five pairs
// (0.84 to 1.60).
//
// Handovers do change the balance. The single goroutine has one hold per tenure of the others:
// 17 % with 4 handovers, 5.4 % with 16, 1.8 % with 64. Its longest waits do not grow. Two
// clients with enough goroutines have equal shares: 25 and 25 at 9,400, 19,700 and 55,000
// acquisitions/s. (Two busy shared cores.)
//
// Alibaba's DistributedReentrantLock has three faults that this one has not. Its tryLock keeps
// the local lock when the distributed one is taken. Its first unlock of a nested lock frees
// the distributed one. A failed unlock keeps the local one forever.
//
// # References
//
// Alibaba, otter, shared.arbitrate, DistributedReentrantLock.java.
var twoLevel = cohort("zk-two-level", "goroutines of a client queue in memory, the first takes a ticket; the distributed lock is released first",
	"otter DistributedReentrantLock", notJudged, zklock.CohortOptions{Handovers: -1})

// localFirst is [twoLevel] with the other order of release.
var localFirst = cohort("zk-two-level-local-first", "zk-two-level where the next goroutine may queue before the last one's ticket is gone",
	"otter DistributedReentrantLock", notJudged, zklock.CohortOptions{Handovers: -1, LocalFirst: true})

const notJudged = harness.Complexity(0)

// cohort returns a variant of [zklock.Cohort].
func cohort(name, doc, paper string, complexity harness.Complexity, o zklock.CohortOptions) *harness.Variant {
	return &harness.Variant{
		Name:       name,
		Doc:        doc,
		Paper:      paper,
		Complexity: complexity,
		Traits:     harness.Traits{Fenced: true},
		Remote:     remote(func(c *zklock.Client, path string, _ zklock.Options) locker { return c.Cohort(path, o) }),
	}
}

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
		recipe.Recipe{Kind: writeKind, Look: recipe.Behind(list, recipe.Nearest, recipe.Ticket.Watch)},
		recipe.Recipe{Kind: readKind, Look: recipe.Behind(list, firstWrite, recipe.Ticket.Watch)})
	return m
}

func firstWrite(line []recipe.Place, i int) int {
	return slices.IndexFunc(line[:i], func(p recipe.Place) bool { return p.Kind == writeKind })
}
