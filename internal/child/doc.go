// Package child starts helper processes that end with this one: servers, locks and
// measurements in other programs.
//
// A child has its own process group: Ctrl-C does not end it directly, and a kill includes its
// children. On Linux the kernel kills the child with its owner. Elsewhere a child outlives a
// kill -9 of its owner, unless its standard input ends.
//
// The parent-death signal is sent when the THREAD that forked ends. Go ends threads at will,
// so one goroutine, spawnLoop, is locked to its thread and starts all children. Tools that
// answer and end do not need this: use exec.CommandContext.
package child
