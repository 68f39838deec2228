// Package lab is package zklock as the lab sees it: [Suite], a [harness.Variant] for
// every lock, and adapters from the clients, locks, leases and errors of zklock to
// those of package harness.
//
// It also has the locks that are not for programs, one file each: recipes that zklock
// is compared with, which stand on its tickets (zklock/internal/recipe), and
// historical ones, which stand on the plain client library.
//
// Rank 3. It imports zklock, zklock/internal/recipe, harness, internal/adapt and
// internal/wire/zookeeper, and must never import anything that runs, tests or
// measures a lock.
package lab
