// Package lab adapts package zklock for the lab: [Suite] has a [harness.Variant] for every lock,
// and adapters convert the clients, locks, leases and errors of zklock to those of package
// harness.
//
// It also has locks that are not for production use, one file each. Recipes for comparison use
// zklock's tickets (zklock/internal/recipe), and historical locks use the plain client library.
package lab
