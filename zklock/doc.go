// Package zklock provides distributed locks between processes on a ZooKeeper ensemble. Its
// locks are fair and without a thundering herd. They have fencing tokens and cancellation, and
// report when a lock is lost.
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
// The module has no public address yet. A program that uses it replaces the module path with a
// clone:
//
//	go mod edit -require=locklab@v0.0.0 -replace=locklab=../locklab
//	go get locklab/zklock
//
// In a fork, make module MODULE=example.org/you/locklab gives the module that path.
//
// # What it promises
//
// Waiters are served in the order of their tickets: ephemeral sequential nodes below the path
// of the lock. A crashed client's tickets disappear with its session. Tokens rise strictly
// from holder to holder. A resource that remembers the greatest token it has seen can refuse a
// holder that was paused for longer than its session. No lock service can do without that
// check, see Kleppmann, "How to do distributed locking", 2016.
//
// A [Lease] has no separate time to live: it follows the session of its client. It ends, and
// its Done channel closes, when the server reports that the session has expired. It also ends
// before that, by the local clock, when the servers may be about to expire the session because
// no majority of them has confirmed it for too long. An answer from the connected server alone
// does not count: that server may be cut off from the others, which end the session meanwhile.
// So a client that holds or waits for a lock and writes nothing else sends a small write up to
// four times in a session timeout. If it does not complete soon, the client switches to another
// server. With the default margin a lease then always has 0.3 to 0.6 of the session timeout
// left. A longer leader election can cost the lease (docs/decisions/0009-zk-contact.md).
//
// A lease also ends when the holder's ticket is deleted. That is noticed at once if the ticket
// is older than a second, or than a third of the session timeout if that is less. Otherwise it
// is noticed at that age, or at Unlock.
//
// A waiter whose ticket is deleted queues again, at once if the ticket is that old. Do not
// delete the ticket of a waiter that has only just begun to wait. It may be handed the lock
// and hold it concurrently with the next one until the ticket would have reached that age; its
// token is the smaller one. A person or program that deletes a stuck ticket is not that fast.
// This applies to a [Mutex], a [Multi] and a [RWMutex]; other locks list the queue before they
// take the lock.
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
// # Many goroutines
//
// Goroutines of one process that want the same lock share a [Cohort]: they queue in memory,
// with one ticket for all, and hand the lock on without a request. Fifty of them take it ten
// to twenty times as often as with a Mutex, and other clients are not starved.
//
// # Kinds of lock
//
//   - [Client.Mutex]: one holder.
//   - [Client.Reentrant]: one owner, which may take it again. The user chooses the owner: a
//     goroutine, a request or the client.
//   - [Client.RWMutex]: one writer or any number of readers; [RWMutex.Owner] for one that
//     writes and then reads on.
//   - [Client.Semaphore]: a fixed number of holders.
//   - [Client.Multi]: the mutexes of several paths, without deadlock.
//
// All keep the promises above. [Do] and [Locker] work with each of them.
//
// # Lost connections
//
// A waiter tolerates a lost connection: it keeps its place in the queue while the session is
// alive and queues at the end after that. If the reply to its create request is lost, it finds
// its ticket by the unique part of the name. No error leaves a ticket without an owner. If the
// servers refuse to delete one, it is deleted in the background as soon as they allow it.
//
// Without a leader no lock changes hands. The servers notice a dead leader at once, a hung one
// after syncLimit ticks. Then there is an election, and a client reconnects when it has tried
// the servers once more, a second or two later. The handshake with a hung server takes an
// eighth of the session timeout of that, at least half a second, and up to a third if all
// servers are slow. For the first second after that it is skipped while another server may
// serve. A client that does not return blocks the others for longer: the new leader gives
// every session a whole timeout. So the bound is syncLimit ticks, the election, the session
// timeout and a tick. An election usually takes half a second, plus initLimit ticks for each
// failed one.
//
// # Contexts
//
// The client library does not support contexts. Each Lock and Unlock therefore runs in a
// goroutine of the [Client], and the caller stops waiting for it when its context ends. The
// goroutine then withdraws the ticket as soon as a server answers; at the latest the ticket
// goes with the session. This library cannot cancel ZooKeeper watches, so the tickets of one
// client share one watch per node, which ends with that node. [Client.Close] ends everything;
// [Client.Shutdown] first gives the locks back and leaves the queues. A nil context counts as
// context.Background() in every method.
//
// # Observing
//
// [WithTrace] reports the steps of a Lock and the fate of its lease, and [ClientOptions].Trace
// those of all locks of a client, for metrics and logs. [Client.Stats] counts the requests.
// Every kind of lock has the methods Holders and Waiters, see [Mutex.Holders].
// They list holders and waiters by [ClientOptions].Name, with the time of their start.
//
// # State in ZooKeeper
//
// [Lease.IsOwner] returns a check that makes a transaction of any connection fail if the lock
// is no longer held. Data on the same servers then needs no fencing token.
//
// # Other libraries
//
// Tickets are named _c_<unique>-lock-<sequence>, or lock-<sequence> if only their client can
// write to them. Curator's InterProcessMutex and go-zookeeper's zk.Lock can contend for the
// path of a Mutex, a Reentrant or a Multi. Curator's InterProcessReadWriteLock can contend
// with a RWMutex, and its InterProcessSemaphoreV2 with a [SemaphoreV2]. Children with other
// names are ignored. Curator's Revoker cannot write to the ticket of a Mutex or of a RWMutex's
// writer: the servers refuse it. If they enforce no ACLs, the write has no effect.
//
// Curator's InterProcessReadWriteLock up to version 5.4.0, which Debian 12 has, lets two
// holders in (CURATOR-621). When an owner that writes and also reads unlocks its write lock, a
// waiting writer gets the lock while the reader still holds it. It also does that to its own
// owners, without a RWMutex on the path. Use a later version, or no such owners.
//
// # Numbers of tickets
//
// Servers number tickets up to 2^31-1 and then repeat that number: locks that order tickets
// only by number, such as zk.Lock and Curator's, then have several holders. A lock of this
// package is never held by a number near the end. While it has no tickets, its node is
// recreated with the same data and ACL, and numbers restart at 0
// (docs/decisions/0017-zk-numbers.md). If that is impossible, Lock returns [ErrExhausted].
//
// # Paths
//
// A path is checked before any request, and the error wraps [ErrPath]. A path can have 256
// KiB, an ACL 128 KiB: a server breaks the connection of a client whose request exceeds
// jute.maxbuffer (1 MiB by default), each time that it is repeated. With a smaller
// jute.maxbuffer, paths must be shorter too. ZooKeeper refuses control characters, U+E000 to
// U+F8FF, and all characters from U+FFF0 on, including those above U+FFFF. No part of a path
// can look like a ticket, such as lock-0000000001: a lock at its parent would wait for it.
//
// # Connections
//
// A client makes its own connection and cannot use an existing *zk.Conn. It reads the packets
// of the connection to find out since when a majority of the servers counts the session, which
// that type does not expose.
//
// A host may be a name. It is resolved for each round of connections, and each of its addresses
// is tried in random order: a server may return with a new address, and one name may stand for
// all servers. With TLS a server's certificate must match the host in its address, unless
// tls.Config.ServerName is set. A path after the port (chroot) and SASL are not supported.
//
// Servers that were restored from older data refuse the session of a client that has seen
// newer data. After a session timeout of refusals the client ends the session and its leases,
// with [ErrSessionExpired], and begins another one. The tokens of a restored ensemble can be
// lower than before.
//
// # Access
//
// A client with Username makes nodes for that user only, unless ACL is set. The same users may
// access tickets, except for writing, which only the client can do: for that it presents a
// random identity. Servers with skipACL=yes are detected, and the event of a release is then
// only a hint, as in Curator. A client without access gets an error that wraps [ErrNoAuth] and
// zk.ErrNoAuth.
package zklock
