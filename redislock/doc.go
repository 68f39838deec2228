// Package redislock provides distributed locks between processes on Redis. Its locks are fair
// and hand over without polling. They have renewed leases, fencing tokens and cancellation,
// leave no orphaned keys, and report when a lock is lost.
//
//	rdb := redis.NewClient(&redis.Options{Addr: "redis:6379", ContextTimeoutEnabled: true})
//	defer rdb.Close()
//	locks := redislock.NewClient(rdb, redislock.ClientOptions{})
//	defer locks.Close()
//
//	m := locks.Mutex("locks:reindex", redislock.Options{})
//	err := redislock.Do(ctx, m, func(ctx context.Context, lease *redislock.Lease) error {
//		return reindex(ctx, lease.Token()) // ctx ends if the lock is lost
//	})
//
// # Getting it
//
// The module has no public address yet. A program that uses it replaces the module path with a
// clone:
//
//	go mod edit -require=locklab@v0.0.0 -replace=locklab=../locklab
//	go get locklab/redislock
//
// In a fork, make module MODULE=example.org/you/locklab gives the module that path.
//
// # Which lock
//
// Use [Mutex] unless one of these fits better:
//
//   - [RWMutex]: many readers.
//   - [Semaphore]: a limited number of holders at once.
//   - [Multi]: several names at once.
//   - [Cohort]: many goroutines of a process want the same lock, and order does not matter.
//   - [Reentrant]: shares a lock with Redisson's getLock, or its owner takes it again.
//   - [Redlock]: independent servers.
//   - [PollMutex] and [PubSubMutex]: baselines for comparison. They keep no order.
//
// The last four have no fencing tokens: [Lease.Token] is 0. Use each name for one kind only. A
// Mutex, a Multi and a Cohort with one name exclude each other; the other kinds fail or break
// each other's rules.
//
// A lock may be made for every call: all locks of one name share the state that the [Client]
// keeps for their waiters. Only a [Cohort], in which the waiters of a process meet, must be
// kept. A client listens for 32 names per connection; in a cluster it uses one connection per
// name. Five seconds after the last waiter at most one connection is left, in a cluster at
// most four to each node. A [Reentrant] and a [PubSubMutex] subscribe with one connection per
// name, which closes five seconds after its last waiter.
//
// # What it promises
//
// While the server keeps its data, at most one lease of a [Mutex] is within its Deadline. The
// lease counts from before the request was sent, less clock drift, and less [Options].Margin.
// So a holder that is cut off is notified before another has the lock. Waiters are served in
// order of arrival.
//
// The lease is lost at its deadline, or when a renewal finds the lock gone. Then Done is
// closed, and another client may have the lock. Tokens rise strictly from holder to holder, so
// a resource that remembers the greatest can refuse a holder that was paused for longer.
// Without that check a pause breaks mutual exclusion, as with every distributed lock: see
// Kleppmann, "How to do distributed locking", 2016.
//
// # Suspend
//
// A lease continues to count down while the machine is suspended, and Err and Deadline are
// correct as soon as it wakes. Go's timers stand still meanwhile. So Done may close late, by
// the time that was left of the lease when the suspend began: check Err right before an
// effect. If a hypervisor stops all clocks of a virtual machine, only the token protects. On
// systems other than Linux and macOS the wall clock shows a suspend, and a forward step of it
// ends leases early.
//
// # What it does not promise
//
// A server that restarts without its data, or a replica that is promoted before it has the
// latest writes, grants the lock a second time. Then two hold it until the old holder's next
// renewal or its deadline. The renewal comes at most a third of its lease later, and a tenth
// later for each failed try. No option prevents that; min-replicas-to-write and WAIT only make
// it rarer. If that is not acceptable, use a lock on a consensus service, such as package
// zklock.
//
// A counter in the same server is no fence either, since it falls back with the other data:
// INCR repeated a number in each of ten failovers. The tokens of a [Mutex] also follow the
// server's clock. They rose in each of ten failovers, so a resource that checks them is safe.
// But if the clock of the new primary is behind by more than the failover took, they fall (ten
// of ten, with a minute).
//
// Conversely, a release that was not replicated leaves the lock taken until its lease is over
// (ten of ten). Replicated state is kept: holders keep their locks, and hand them over to the
// waiters. The scenarios redis-promotion of locklab chaos show this. While there is no primary,
// Lock repeats its request, see [Options].Outage.
//
// The clock of the server must not be set. Leases end by it, so a step forward gives every
// lock away early by as much. Two then hold it until the old holder's next renewal or its
// deadline: 0.31 s was seen with leases of 1.5 s. A step back makes leases last longer.
//
// A grant in a notification also counts by the server's clock, which the client learns from
// earlier requests. After a connection broke, another server may answer, so the client forgets
// that clock and the waiter asks. A hazard remains: if the old primary still answers a client
// whose notifications come from a new primary with a clock ahead, it may take a late grant for
// a new one, and hold the lock up to a grant timeout too long.
//
// A server that evicts keys loses locks in the same way: set the policy noeviction, or one
// that cannot evict the keys of the lock.
//
// # Lost replies
//
// A request may fail after it has taken effect. Therefore the script that acquires a lock
// recognizes its own nonce. A repetition, by this package or by the client library, does not
// mistake its own key for another holder's. A Lock that gives up in doubt undoes its requests.
// A request that the network delays until after that can still take the lock or a place in the
// queue. The lock ends with its lease, the place with the grant timeout. Other data that a
// lock leaves in the server, a counter, ends a day after its last use.
//
// # Contexts
//
// Each Lock, Unlock, Holders and Waiters runs its requests in a goroutine of the [Client]. The
// caller stops waiting when its context ends, whatever the settings of the client library. The
// goroutine continues with a release, or undoes a Lock that gave up, until the server answers
// or the lease is over. It tries for up to ten minutes to remove a place in the queue; a client
// keeps 1024 such requests.
//
// At the end of a process, [Client.Shutdown] gives back every lock and every place in a queue;
// [Client.Close] gives back only the places. With redis.Options.ContextTimeoutEnabled, which
// is recommended, most Unlocks need no goroutine. A nil context counts as context.Background()
// in every method.
//
// # Temporary and permanent errors
//
// A table in answers.go lists the errors of servers for all requests. Some are temporary: the
// server loads its data, is busy, is no primary, lacks memory or replicas, cannot write to its
// disk, or moves a slot to another node. A refused password is temporary if the server has
// accepted it before, because it is being changed. After a temporary error Lock repeats its
// request, and a lease stays until its deadline. A missing right, a password that was never
// accepted and a key in use for something else end a Lock at once.
//
// # Observing clients
//
// [ClientOptions] gives a client a name, which CLIENT LIST and the keys of its locks then
// show. [WithTrace] reports the steps of a Lock and the fate of its lease. ForceUnlock takes a
// lock away from a holder that is known to be dead.
//
// # Supported servers
//
// Unit tests of a service can use the server of github.com/alicebob/miniredis. There leases end
// only by FastForward, and nothing fails.
//
// The package runs on one server, behind Sentinel, on a Cluster, over TLS and as an ACL user,
// with any client of [redis.NewUniversalClient]. [ClientOptions] describes which hung servers
// it notices. All of these were tested on Redis 7.0.15 and 8.6.3, and all but TLS on Redis
// 8.2.3 and Valkey 9.1.2. CONTRIBUTING.md describes how to run the tests on another server.
// Untested are Redis before 7, 7.2, 7.4 and 8.4, Valkey before 9.1, managed services, a cluster
// whose nodes fail, a redis.Ring, and other servers with the same protocol.
//
// In a cluster all keys of a lock are in the slot of its name, and the locks of a [Multi] may
// be in different slots. A name whose companion keys would be in another slot is refused.
// While a slot migrates, leases are renewed and locks released; a lock with a queue is taken by
// polling, without order. A migration that is given up loses the locks on the other node.
//
// A user that may only use locks whose names begin with "locks:" needs exactly these rights:
//
//	ACL SETUSER locks on >PASSWORD
//	  ~locks:* ~{locks:* &locks:* &{locks:* &redisson_lock__channel:*locks:*
//	  +eval +evalsha +blpop +subscribe +publish
//	  +time +get +set +del +exists +pexpire +pttl +rpush +rpop +lindex
//	  +zadd +zcard +zrange +zrangebyscore +zrank +zrem +zscore +zpopmin
//	  +hset +hget +hdel +hexists
//
// In a cluster it also needs +cluster|slots. If a right is missing, Lock, Unlock or
// ForceUnlock reports it at once: the first Lock of a client also checks the rights to renew
// and to release. If a right is revoked while a lock is held, the lease ends at its next
// renewal, with that error. These rights are optional:
//
//   - +client|setname shows [ClientOptions].Name in CLIENT LIST, not only in keys.
//   - +hkeys is for [Reentrant.Holders].
package redislock
