// Package zksession is a session with a ZooKeeper ensemble that reads its packets, to expose
// since when the servers certainly count its timeout, see [Proof], and its traffic, without
// keep-alives and connection setup.
package zksession
