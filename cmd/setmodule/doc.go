// Command setmodule changes the module path in every go.mod, import, comment link, build
// flag, listing and message of the current tree.
//
//	setmodule example.org/you/locklab
//
// It replaces only text that must be the path of this module or of one of its packages:
// the old path in a go.mod, before @v, in -require, -replace and -droprequire flags, and
// in front of one of the module's folders. It does not change the name of the command,
// environment variables, and paths of nodes and keys.
//
// It can be repeated, also with the old path to undo the change. The exit status is 2,
// with one line, if the path is invalid, and 1 if a file cannot be changed.
//
// Rank 0. It imports the standard library only.
package main
