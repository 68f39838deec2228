// Package lockbench runs the runner's measurements under "go test -bench": the same
// loops, metrics and names as "locklab run", inside one process and limited by b.N.
package lockbench
