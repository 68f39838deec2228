// Package backend gives tests and runs real servers. It starts redis-server and ZooKeeper as
// child processes on loopback, or uses the servers in LOCKLAB_REDIS and LOCKLAB_ZOOKEEPER.
// LOCKLAB_REDIS_SERVER replaces the program redis-server. The package never imitates a server:
// if one is missing, the error wraps [harness.ErrUnavailable] and explains how to install it.
//
// # Cleanup
//
// Nothing is left behind. Each server has its own process group, a random free port and a
// private temporary directory, and ends with its owner:
//
//   - Stop kills the server, waits for it and removes its directory. The owner defers it. If a
//     context ends, a Start in progress stops, but running servers do not.
//   - The package installs no signal handler; the program must do that. The terminal sends
//     Ctrl-C only to its foreground process group, without the servers. They live until the
//     owner has run its defers (signal.NotifyContext in main, then return).
//   - An owner may never reach its defers (a panic, os.Exit, log.Fatal, a signal without
//     handler, kill -9). On Linux the kernel then kills the servers with the parent-death
//     signal. On other systems a kill -9 of the owner leaves the servers running.
//   - The next Start removes directories of dead owners. The owner holds a flock on the
//     directory, so a directory with a free lock has no owner.
//
// Package child starts the processes. One goroutine of it, spawnLoop, remains after Stop.
//
// # Failures
//
// Tests and failure scenarios stop, kill and restart servers with [Server.Signal],
// [Server.Kill] and [Server.Restart]. These affect only servers that the lab started.
// [StartRedisOf], [StartEnsembleOf], [StartAlone] and [Setup.Own] start such servers
// regardless of the user's variables. Stop works in every state.
//
// # Safety
//
// The lab's own servers listen on 127.0.0.1 without a password, so other users of the same
// machine can talk to them while they run. Credentials of the user's servers come from the
// environment only and appear in no message.
package backend
