// Command setmodule gives the module another path: in every go.mod, import, link
// in a comment, build flag, listing and message of the tree that it runs in.
//
//	setmodule example.org/you/locklab
//
// It replaces what can only be the path of this module or of one of its packages:
// the old path in a go.mod, before @v, in -require, -replace and -droprequire flags,
// and where it is followed by one of the module's folders. The name of the command,
// environment variables, and paths of nodes and keys stay as they are.
//
// It can be repeated, and run with the old path to go back. The exit status is 2,
// with one line, if the path cannot be one, and 1 if a file cannot be changed.
//
// Rank 0. It imports the standard library only.
package main
