// Package backend gives tests and runs real servers to talk to: it starts
// redis-server and ZooKeeper as child processes on loopback, or uses the
// servers that the user names in LOCKLAB_REDIS and LOCKLAB_ZOOKEEPER, or starts the
// program that LOCKLAB_REDIS_SERVER names in place of redis-server. It never
// imitates a server: what is missing is an error that wraps
// [harness.ErrUnavailable] and says how to get it.
//
// # What is left behind
//
// Nothing. Each server has its own process group, a random free port and a
// private temporary directory, and goes away with its owner:
//
//   - Stop kills the server, waits for it and removes its directory. The owner
//     defers it. A context that ends stops a Start that is under way, but never
//     a server that runs.
//   - The package installs no signal handler; that is for the program to do.
//     The terminal sends Ctrl-C to its foreground process group only, which the
//     servers are not in, so they live until the owner has run its defers
//     (signal.NotifyContext in main, then return).
//   - An owner that never reaches its defers (a panic, os.Exit, log.Fatal, a
//     signal without handler, kill -9) takes its servers along on Linux: the
//     kernel kills them with the parent-death signal. Other systems have none:
//     there a kill -9 of the owner leaves the servers running.
//   - A directory whose owner died that way is removed by the next Start. The
//     owner holds a flock on the directory, so a directory whose lock is free
//     has no owner.
//
// Package child starts them, and says how that holds: one goroutine of it stays
// after Stop, its spawnLoop.
//
// # Servers to be hurt
//
// Tests and failure scenarios stop, kill and restart servers by [Server.Signal],
// [Server.Kill] and [Server.Restart], which do so to servers that the lab started and
// to no other process. [StartRedisOf], [StartEnsembleOf], [StartAlone] and
// [StartLayout] start such whatever the user's variables say. Stop works whatever was
// done.
//
// # Safety
//
// The lab's own servers listen on 127.0.0.1 without a password, so other users
// of the same machine can talk to them while they run. Credentials of the
// user's servers come from the environment only and appear in no message.
//
// Rank 1. It imports harness, the standard library and golang.org/x/sys/unix,
// and must never import a client library or a lock.
package backend
