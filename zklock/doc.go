// Package zklock is mutual exclusion between processes, kept by a ZooKeeper
// ensemble: fair, without a herd, with fencing tokens, cancellable, and honest
// about losing a lock.
//
//	client, err := zklock.Dial(ctx, []string{"zk1:2181", "zk2:2181", "zk3:2181"}, zklock.ClientOptions{})
//	if err != nil {
//		return err
//	}
//	defer client.Close()
//
//	m := client.Mutex("/locks/reindex", zklock.Options{})
//	err = zklock.Do(ctx, m, func(ctx context.Context, lease *zklock.Lease) error {
//		return reindex(ctx, lease.Token()) // ctx ends if the lock is lost
//	})
//
// # Getting it
//
// The module has no address to be fetched from. A program that uses it puts a clone
// in its place:
//
//	go mod edit -require=locklab@v0.0.0 -replace=locklab=../locklab
//	go get locklab/zklock
//
// In a fork, make module MODULE=example.org/you/locklab gives the module that path.
//
// # What it promises
//
// Waiters are served in the order of their tickets: ephemeral sequential nodes
// below the path of the lock. A crashed client's tickets disappear with its
// session. Tokens rise strictly from holder to holder, so that a resource
// which remembers the greatest token it has seen can refuse a holder that was
// paused for longer than its session lived. No lock service can do without
// that check, see Kleppmann, "How to do distributed locking", 2016.
//
// A [Lease] has no time to live of its own: it follows the session of its client.
// It ends, and its Done channel closes, when the server says that the
// session has expired, and also before that: when the servers may be about to
// expire it, by the local clock, because no majority of them has confirmed it for
// too long. An answer of the one server that the client is connected to does not
// count: it may be cut off from the others, which end the session meanwhile. So a
// client that holds or waits for a lock and writes nothing sends a small write up to
// four times in a session timeout, and goes to another server if that is not done
// soon. What is left of a lease at any time is then 0.3 to 0.6 of the session
// timeout, with the default margin: a leader election that takes longer can cost
// the lease (docs/decisions/0009-zk-contact.md).
//
// It also ends when the holder's ticket is deleted: at once if the ticket
// is older than a second, or than a third of the session timeout if that is
// less; otherwise when it comes to that age, or at Unlock.
//
// A waiter whose ticket is deleted queues again, and is told at once if the
// ticket is that old. The ticket of a waiter that has begun to wait only just now
// must not be deleted: it may be handed the lock, and hold it beside the one
// behind it until the ticket would have come to that age. Its token is then the
// smaller one. To watch every ticket from the start would cost each acquisition a
// request and an event; a person or program that looks at a queue first and then
// deletes what is stuck is not that fast. This is so for a [Mutex], a [Multi] and a
// [RWMutex]; others look at the queue before they take the lock.
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
// # Many goroutines
//
// Goroutines that want the same lock in one process share a [Cohort]: they
// queue in memory, with one ticket for all, and hand the lock on without a
// request. Fifty of them take it ten to twenty times as often as by a Mutex, and
// other clients are not starved.
//
// # Kinds of lock
//
//   - [Client.Mutex]: one holder.
//   - [Client.Reentrant]: one owner, which may take it again, and which can be asked
//     for it by [Client.Revoke]. What is an owner, a goroutine, a request, the
//     client or its session, is up to the user.
//   - [Client.RWMutex]: one writer or any number of readers; [RWMutex.Owner] for one that
//     writes and then reads on.
//   - [Client.Semaphore]: so many holders.
//   - [Client.Multi]: the mutexes of several paths, without deadlock.
//
// All keep the promises above. [Do] and [Locker] work with each of them.
//
// # Lost connections
//
// A waiter rides out a lost connection, at its place in the queue as long as
// the session lives and at the end of the queue after that. If the reply to
// its create request is lost, it finds its ticket again by the unique part of
// its name. No error leaves a ticket behind that has no owner; one that the servers
// refuse to delete is deleted in the background as soon as they let the client.
//
// While the servers have no leader no lock changes hands. One that dies is
// missed at once, one that hangs after syncLimit ticks; then there is an election,
// and a client is back when it has tried the servers once more: a second or two
// later, of which the handshake with a server that hangs takes an eighth of the
// session timeout, at least half a second, and up to a third if all servers are slow.
// For the first second after that it is left out while another server may serve.
// A client that does not come back keeps the others out for longer: the new leader
// gives every session a whole timeout. So the bound is syncLimit ticks, the
// election, the session timeout and a tick. An election takes half a second, as a
// rule, and initLimit ticks more each time that it fails.
//
// # Contexts
//
// The client library knows no contexts. Each Lock and Unlock therefore runs in
// a goroutine that belongs to the [Client], and the caller stops waiting for
// it when its context ends. The goroutine then withdraws the ticket, at once
// if a server answers, else when one does; failing all, the ticket goes with
// the session. ZooKeeper watches cannot be taken back by this library, so the
// tickets of one client share one watch for each node they wait on, and it
// ends with that node. [Client.Close] ends everything; [Client.Shutdown] first gives the
// locks back and leaves the queues.
//
// A nil context counts as context.Background(), in every method.
//
// # Observing
//
// [WithTrace] tells what a Lock does, and what becomes of its lease, and
// [ClientOptions].Trace does so for all locks of a client, for metrics and logs: a wait
// begins and ends; Lock succeeds or fails; a majority of the servers confirms the session,
// or a confirmation fails, with the time that is left; the lease is released or lost.
// [Client.Stats] counts the requests. Every kind of lock but a [Multi] has Holders and
// Waiters, see [Mutex.Holders]: who has it, who waits, and since when, by the
// [ClientOptions].Name of clients.
//
// # State in ZooKeeper
//
// [Lease.IsOwner] returns a check that makes a transaction of any connection fail if the
// lock is not held any more. What is kept on the same servers needs no fencing token then.
//
// # Other libraries
//
// Tickets are named _c_<unique>-lock-<sequence>, or lock-<sequence> if only their client
// can write to them. Curator's InterProcessMutex
// and go-zookeeper's zk.Lock can contend for the path of a Mutex, a Reentrant
// or a Multi, Curator's InterProcessReadWriteLock for that of a RWMutex, and its
// InterProcessSemaphoreV2 for that of a [SemaphoreV2]. Children with other names
// are ignored. Curator's Revoker cannot write to a ticket of a Mutex or to that of
// a RWMutex's writer: it is refused, unless the servers enforce no ACLs, and then
// nothing follows from it. [Client.Revoke] does not try.
//
// Curator's InterProcessReadWriteLock up to version 5.4.0, which Debian 12 has, lets
// two in: when an owner that writes and also reads unlocks what it took to write, a
// writer that waits holds the lock beside the reader that is left (CURATOR-621). It
// does so to owners of its own without a RWMutex on the path, too. Use a later
// version, or no such owners.
//
// # Numbers of tickets
//
// Servers number tickets up to 2^31-1 and then repeat that number: locks that order tickets
// by number alone, such as zk.Lock and those of Curator, have several holders then. A lock
// of this package is never held by a number near the end. Its node is made again, with
// the same data and ACL, while it has no tickets, and numbers begin at 0
// (docs/decisions/0017-zk-numbers.md). If that cannot be, Lock returns [ErrExhausted].
//
// # Paths
//
// A path is checked before the servers are asked anything, and the error wraps
// [ErrPath]. It can have 256 KiB, an ACL 128 KiB: a server breaks the connection of a
// client that sends it a request of more than a megabyte, jute.maxbuffer, each time
// that the request is repeated. Where that is set to less, so must paths be.
// Characters that ZooKeeper refuses are control characters, U+E000 to U+F8FF, and
// all from U+FFF0 on, so also those above U+FFFF. No part of a path can be what a
// ticket is called, such as lock-0000000001: a lock at /a would wait for it.
//
// # Connections
//
// A client makes its own connection and cannot take an existing *zk.Conn: it reads the
// packets that cross it, to know since when a majority of the servers counts the session,
// which that type does not tell.
//
// A host may be a name. It is looked up for each round of connections, and each of its
// addresses is tried, in random order: a server may come back under a new address, and one
// name may stand for all servers. With TLS the certificate of a server must be for the host
// in its address, unless tls.Config.ServerName is set. A path behind the port (chroot) and
// SASL are not supported.
//
// Servers that were restored from older data refuse the session of a client that has seen
// more. After a session timeout of that the client ends the session, and its leases with
// [ErrSessionExpired], and begins another one. The tokens of a restored ensemble can be
// lower than before.
//
// # Access
//
// A client with Username makes nodes for that user only; ACL says something
// else. Tickets are open to the same users but for writing, which is left to
// the client: it presents an identity of its own, made up at random, for that.
// Servers with skipACL=yes are recognized, and the event of a release is then
// only a hint, as in Curator. A client that is not let in gets an error with [ErrNoAuth]
// and zk.ErrNoAuth in it.
package zklock
