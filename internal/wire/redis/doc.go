// Package redis connects to a [harness.Endpoint] that is a Redis server, and counts the commands
// and messages on the wire for a lock. Connection setup is not counted, so the counts are the
// cost of the lock alone.
//
// Rank 1. It imports harness and go-redis, and must never import a lock or the
// client of another service.
package redis
