// Package child starts helper processes of this one that go away with it: servers,
// locks and measurements in other programs.
//
// A child has a process group of its own, so that Ctrl-C at the terminal, which
// goes to the foreground group, leaves it to its owner, and so that its own children
// are killed with it. On Linux the kernel kills it with its owner, however that
// ends; elsewhere a kill -9 of the owner leaves it running, unless it sees the end of
// its standard input.
//
// The parent-death signal is sent when the THREAD that forked ends, not the
// process. Go ends threads at will, so all children are started from one goroutine
// that is locked to its thread and lives as long as the process: spawnLoop.
//
// Compilers and tools that answer and end need none of this: exec.CommandContext
// serves.
//
// Rank 0. It imports nothing of the module.
package child
