// Package recipe lets other packages of this module use zklock's tickets with their own
// recipes: the lab compares published locks with zklock's. A [Recipe] distinguishes one lock
// from another, and [Engine] makes a zklock lock follow it. It is not part of zklock's
// documentation, and a program that uses zklock links only the recipe [Fair].
package recipe
