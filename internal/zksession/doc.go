// Package zksession is a session with a ZooKeeper ensemble that knows more of
// itself than the client library tells: since when the servers surely count its
// timeout, see [Proof], and what crossed the wire on its behalf. It reads the
// packets as they pass through the connection. Keep-alives and what a connection
// needs to be set up are not counted, so the counts are the cost of its user alone.
//
// Rank 0. It imports the client library of ZooKeeper, and nothing of this module.
package zksession
