// Package recipe lets other packages of this module use zklock's tickets, which tolerate lost
// connections and replies, with their own recipes: the lab compares the locks of zklock with
// published ones. A [Recipe] distinguishes one lock from another, and [Engine] makes a zklock
// lock follow it. It is not part of zklock's documentation. A program that uses zklock links
// only the recipe [Fair], which zklock's reentrant locks and cohorts use too.
package recipe
