// Package wire connects clients to a [harness.Endpoint] and counts what
// crosses the wire on behalf of a lock: requests sent, and notifications that
// the server sent unasked. Keep-alives and what a connection needs to be set
// up are not counted, so the counts are the cost of the lock alone.
//
// [Redis] counts with a hook inside the client. [ZooKeeper] reads the packets
// as they pass through the connection, which also tells it since when the servers
// surely count the timeout of the session, see [Proof].
//
// Rank 1. It imports harness and the two client libraries, and must never
// import a lock.
package wire
