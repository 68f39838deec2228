// Package child starts helper processes that end with this one: servers, locks and
// measurements in other programs.
//
// A child has its own process group. So Ctrl-C at the terminal, which goes to the
// foreground group, does not end it directly, and a kill includes its children. On Linux
// the kernel kills the child with its owner, however the owner ends. Elsewhere a child
// survives a kill -9 of its owner, unless it sees the end of its standard input.
//
// The parent-death signal is sent when the THREAD that forked ends, not the process. Go
// ends threads at will, so one goroutine starts all children: spawnLoop, which is locked
// to its thread and lives as long as the process.
//
// Compilers and other tools that answer and end do not need this: use exec.CommandContext.
package child
