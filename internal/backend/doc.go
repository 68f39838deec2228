// Package backend gives tests and runs real servers. It starts redis-server and ZooKeeper
// as child processes on loopback, or uses the user's servers in LOCKLAB_REDIS and
// LOCKLAB_ZOOKEEPER. LOCKLAB_REDIS_SERVER names a program to start in place of
// redis-server. The package never imitates a server: if one is missing, the error wraps
// [harness.ErrUnavailable] and describes what to install.
//
// # Cleanup
//
// Nothing is left behind. Each server has its own process group, a random free port and a
// private temporary directory, and ends with its owner:
//
//   - Stop kills the server, waits for it and removes its directory. The owner defers it.
//     The end of a context stops a running Start, but never a running server.
//   - The package installs no signal handler; the program must do that. The terminal
//     sends Ctrl-C only to its foreground process group, which excludes the servers, so
//     they live until the owner has run its defers (signal.NotifyContext in main, then
//     return).
//   - If an owner never reaches its defers (a panic, os.Exit, log.Fatal, a signal without
//     handler, kill -9), its servers end on Linux: the kernel kills them with the
//     parent-death signal. On other systems a kill -9 of the owner leaves the servers
//     running.
//   - The next Start removes the directory of such a dead owner. The owner holds a flock
//     on the directory, so a directory whose lock is free has no owner.
//
// Package child starts the servers and documents this mechanism: one goroutine of it
// stays after Stop, its spawnLoop.
//
// # Faults
//
// Tests and failure scenarios stop, kill and restart servers with [Server.Signal],
// [Server.Kill] and [Server.Restart], which affect only servers that the lab started.
// [StartRedisOf], [StartEnsembleOf], [StartAlone] and [StartLayout] start such servers
// regardless of the user's variables. Stop works after any fault.
//
// # Safety
//
// The lab's own servers listen on 127.0.0.1 without a password, so other users of the
// same machine can use them while they run. Credentials of the user's servers come from
// the environment only and appear in no message.
//
// Rank 1. It imports harness, the standard library and golang.org/x/sys/unix, and must
// never import a client library or a lock.
package backend
