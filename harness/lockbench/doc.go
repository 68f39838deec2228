// Package lockbench runs the runner's measurements under "go test -bench": the same
// loops, metrics and names as "locklab run", inside one process and limited by b.N.
//
// Rank 5. It may import the runner and locktest; it must not import a lock family.
package lockbench
