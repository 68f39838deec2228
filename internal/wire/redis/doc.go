// Package redis connects to a [harness.Endpoint] that is a Redis server, and counts the commands
// and messages on the wire for a lock. Connection setup is not counted, so the counts are the
// cost of the lock alone.
package redis
