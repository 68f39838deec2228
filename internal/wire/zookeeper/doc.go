// Package zookeeper connects to a [harness.Endpoint] that is a ZooKeeper ensemble, and counts
// the packets on the wire for a lock.
package zookeeper
