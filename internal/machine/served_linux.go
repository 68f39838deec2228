package machine

import (
	"fmt"
	"io/fs"
	"runtime"
	"strings"

	"golang.org/x/sys/unix"
)

// threadsWant reports whether a thread of the process, except the calling one, runs, is ready to
// run, or waits for a disk. See proc_pid_stat(5).
func threadsWant(fsys fs.FS, pid int) bool {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	threads, err := fs.ReadDir(fsys, fmt.Sprintf("proc/%d/task", pid))
	if err != nil {
		return false
	}
	self := fmt.Sprint(unix.Gettid())
	for _, t := range threads {
		text := readText(fsys, "proc/%d/task/%s/stat", pid, t.Name())
		// The state follows the name, which is in parentheses and may contain any character.
		state := strings.TrimLeft(text[strings.LastIndexByte(text, ')')+1:], " ")
		if t.Name() != self && (strings.HasPrefix(state, "R") || strings.HasPrefix(state, "D")) {
			return true
		}
	}
	return false
}
