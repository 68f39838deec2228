// Package lab is the command line of a laboratory for locks: a program whose main
// function calls [Main] with its locks lists them, measures them, draws what it
// measured and compares runs. Command locklab is such a program, over all locks of
// this module. A module outside this one has one for a lock of its own with
//
//	func main() { lab.Main(lab.Program{Locks: mylock.Suite}) }
//
// docs/your-own-lock.md has the whole of it. The locks of this module stand in
// [locklab/cmd/locklab/catalog], to be measured beside one's own; without that a
// program links none of them.
//
// Rank 7. It may import everything below but a lock: those come from the program.
package lab
