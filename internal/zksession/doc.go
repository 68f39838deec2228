// Package zksession is a session with a ZooKeeper ensemble that exposes more than the client
// library: since when the servers certainly count its timeout, see [Proof], and its traffic. It
// reads the packets of the connection. Keep-alives and connection setup are not counted, so the
// counts are the cost of its user alone.
package zksession
