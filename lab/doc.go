// Package lab is the command line of a laboratory for locks. A program whose main function
// calls [Main] with its locks can list, measure, draw and compare them. Command locklab is
// such a program, with all locks of this module. A module with its own lock needs only
//
//	func main() { lab.Main(lab.Program{Locks: mylock.Suite}) }
//
// See docs/your-own-lock.md. To measure the locks of this module too, add them from
// [locklab/cmd/locklab/catalog]; otherwise a program links none of them.
package lab
