// Package redislock is mutual exclusion between processes, kept by Redis: fair,
// handed over without polling, with leases that are renewed, fencing tokens,
// cancellation, without orphaned keys, and honest about losing a lock.
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
// The module has no address to be fetched from. A program that uses it puts a clone
// in its place:
//
//	go mod edit -require=locklab@v0.0.0 -replace=locklab=../locklab
//	go get locklab/redislock
//
// In a fork, make module MODULE=example.org/you/locklab gives the module that path.
//
// # Which lock
//
// [Mutex], unless you know why not. [RWMutex] where many read; [Semaphore] for so many at
// once; [Multi] for several names at once; [Cohort] where many goroutines of a process
// want the same lock and order does not matter; [Reentrant] to share a lock with
// Redisson's getLock, or to take it again; [Redlock] for independent servers. [PollMutex] and
// [PubSubMutex] are here to compare with: they keep no order. These last four have no
// fencing tokens: [Lease.Token] is 0. One name is for one kind: a Mutex, a Multi and a
// Cohort exclude each other; others fail, or do not keep to each other's rules.
//
// A lock may be made for every call: all with one name share what the [Client] keeps for
// their waiters. Only a [Cohort], in which the waiters of a process meet, must be kept. A
// client listens for 32 names by one connection, in a cluster by one for each name, and
// five seconds after the last waiter at most one is left, in a cluster at most four to each
// node. A [Reentrant] and a [PubSubMutex] subscribe, by one connection for each name,
// which closes five seconds after its last waiter.
//
// # What it promises
//
// While the server keeps its data, at most one lease of a [Mutex] is within its
// Deadline: the time is counted from before the request was sent, less clock
// drift, and less [Options].Margin, so that a holder which is cut off is told before
// another has the lock. Waiters are served in order of arrival. Past the deadline, or when a
// renewal finds the lock gone, the lease is lost and Done is closed, and
// another client may have the lock. Tokens rise strictly from holder to holder,
// so that a resource which remembers the greatest token it has seen can refuse a
// holder that was paused for longer, by a debugger, a hypervisor or a garbage
// collector. Without that check the pause does its harm, as with every lock kept
// by a service: see Kleppmann, "How to do distributed locking", 2016.
//
// # Suspend
//
// The time of a lease counts on while the machine is suspended: Err and Deadline are right
// at once when it wakes. Timers of Go stand still meanwhile, so Done may close later, by
// what was left of the lease when the suspend began: check Err right before an effect. If
// a hypervisor stops all clocks of a virtual machine, only the token protects. On systems
// other than Linux and macOS the wall clock shows a suspend, and a step of it forward ends
// leases early.
//
// # What it does not promise
//
// A server that restarts without its data, or a replica that is promoted before
// it has the latest writes, gives the lock away a second time: two hold it until
// the old holder's next renewal, a third of its lease later at most and a tenth more
// for each try that fails, or until its deadline. No option prevents that, and what
// min-replicas-to-write and WAIT do is to make it rarer. Where it is not acceptable
// use a lock kept by consensus, such as package zklock.
//
// A counter in the same server is no fence either, since it falls back with the
// rest: INCR gave the same number again in each of ten failovers. The tokens of a
// [Mutex] go with the server's clock besides, so that they rose in each of ten, and
// a resource that checks them is safe; but if the clock of the new primary is behind
// by more than the failover took, they fall (ten of ten, with a minute).
//
// The other way round, a release that was not replicated leaves the lock taken until
// its lease is over (ten of ten). What was replicated goes on: holders keep their
// locks, and hand them over to the waiters. TestFailover shows this with a real Sentinel,
// and the scenarios redis-promotion of locklab chaos show it, the clock that is behind
// too. While there is no primary Lock goes on asking, see [Options].Outage.
//
// The clock of the server must not be set. Leases end by it, so a step forward gives
// every lock away early by as much, and two hold it until the old holder's next renewal
// or its deadline: 0.31 s was seen with leases of 1.5 s. A step back lets leases last
// longer. What a notification grants counts by the server's clock too, as a request has
// told it before; after a connection broke, and another server may answer, that is
// forgotten and the waiter asks. But a client that is still answered by the old primary
// while its notifications come from a new one, whose clock is ahead, may take one that
// is late for new, and hold the lock up to a grant timeout too long.
//
// A server that evicts keys loses locks in the same way: the policy must be
// noeviction, or the keys of the lock must be out of its reach.
//
// # Lost replies
//
// A request may fail after it has taken effect. Acquiring is therefore a
// script that knows its own nonce again, so that a repetition, by this package
// or by the client library, does not mistake its own key for another holder's;
// and a Lock that gives up in doubt takes back what may be there. A request that
// the network holds back until after that can still take the lock or a place in
// the queue; the first ends with its lease, the second with the grant timeout.
// What else a lock leaves in the server, a counter, ends a day after its last use.
//
// # Contexts
//
// Each Lock and Unlock runs its requests in a goroutine of the [Client], which
// the caller stops waiting for when its context ends, whatever the settings of
// the client library are. What is left to do continues there: a release, or taking back
// what a Lock that gave up may have left behind, until the server answers or the lease
// is over. A place in the queue is taken back for up to ten minutes; of such requests a
// client keeps 1024. At the end of a process, [Client.Shutdown] gives back every lock and
// every place in a queue; [Client.Close] gives back the places only. With
// redis.Options.ContextTimeoutEnabled, which is recommended, most Unlocks do
// without that goroutine. A nil context counts as context.Background(), in every method.
//
// # Which answers pass
//
// One table in answers.go lists the errors of servers, for all requests. A Lock asks again, and
// a lease stays until its deadline, while a server loads its data, is busy, is no primary,
// lacks memory or replicas, cannot write to its disk, moves a slot to another node, or refuses a
// password after it has accepted one: the password is being changed. A missing right, a
// password that was never accepted and a key in use for something else end a Lock at once.
//
// # Which client has it
//
// [ClientOptions] gives a client a name, which CLIENT LIST and the keys of its locks
// then show; [WithTrace] tells what a Lock does, and what becomes of its lease; and
// ForceUnlock takes a lock away from a holder that is known to be dead.
//
// # Where it runs
//
// On one server, behind Sentinel, on a Cluster, over TLS, as an ACL user: whatever
// [redis.NewUniversalClient] connects to; [ClientOptions] says what is noticed of a
// server that hangs. The tests ran on Redis 7.0.15 and 8.6.3 so, on 8.2.3 and Valkey
// 9.1.2 too but for TLS; the release of a [PollMutex] or a [Redlock] was DELEX on 8.6.3,
// DELIFEQ on Valkey, and a script on the others. CONTRIBUTING.md says how to run them on
// another. Untested are Redis before 7, 7.2, 7.4 and 8.4, Valkey before 9.1, managed
// services, a cluster whose nodes fail, a
// redis.Ring, and other servers that speak its protocol. In a cluster all keys of a lock are in the
// slot of its name, and the locks of a [Multi] may be in different ones; a name whose
// companions would be elsewhere is refused. While that slot migrates leases are renewed and
// locks released; a lock with a queue is acquired again when the slot has moved. A user with the right to nothing but locks
// whose names begin with "locks:" needs this and no more:
//
//	ACL SETUSER locks on >PASSWORD
//	  ~locks:* ~{locks:* &locks:* &{locks:* &redisson_lock__channel:*locks:*
//	  +eval +evalsha +blpop +subscribe +publish
//	  +time +get +set +del +exists +pexpire +pttl +rpush +rpop +lindex
//	  +zadd +zcard +zrange +zrangebyscore +zrank +zrem +zscore +zpopmin
//	  +hset +hget +hdel +hexists
//
// and in a cluster +cluster|slots. Without one of them Lock, Unlock or ForceUnlock says
// so at once: the first Lock of a client asks for the rights to renew and to release as
// well. A right that is taken away while a lock is held ends the lease at its next
// renewal, with that error. With +client|setname CLIENT LIST shows [ClientOptions].Name,
// which else only the keys do. [Reentrant.Holders] needs +hkeys. Where the server has DELEX or DELIFEQ, +delex or +delifeq lets a [PollMutex]
// and a [Redlock] do without the script of the release.
package redislock
