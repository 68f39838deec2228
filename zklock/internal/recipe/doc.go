// Package recipe lets other packages of this module follow the recipe of their own
// with the tickets of zklock, which ride out lost connections and replies: the lab
// compares the locks of zklock with those that others describe. A [Recipe] is what
// distinguishes one lock from another, and [Engine] is by what zklock makes one of
// its locks follow it. It has no part in the documentation of zklock, and a program
// that uses zklock links no recipe but [Fair], which is also that of its reentrant
// locks and cohorts.
//
// Rank 1. It imports internal/zksession and the client library of ZooKeeper.
package recipe
