// Package zookeeper connects to a [harness.Endpoint] that is a ZooKeeper ensemble, and counts
// the packets on the wire for a lock.
//
// Rank 1. It imports harness and internal/zksession, and must never import a lock
// or the client of another service.
package zookeeper
