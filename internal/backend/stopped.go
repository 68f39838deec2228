package backend

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// stops waits at most a second until no thread of a process runs after SIGSTOP: on a busy machine
// it serves until each thread has run once more. It does not wait if the system does not report
// thread states.
func stops(pid int) {
	for end := time.Now().Add(time.Second); !stopped(pid) && time.Now().Before(end); {
		time.Sleep(100 * time.Microsecond)
	}
}

// stopped reports whether all threads of a process are stopped, or it has none.
func stopped(pid int) bool {
	states, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
	if err != nil {
		return true
	}
	for _, name := range states {
		text, err := os.ReadFile(name)
		if err != nil {
			continue // the thread is gone
		}
		// The state follows the name, which is in parentheses and may contain any character.
		if _, state, ok := bytes.Cut(text[max(0, bytes.LastIndexByte(text, ')')):], []byte(") ")); ok && !bytes.ContainsAny(state[:1], "TtZX") {
			return false
		}
	}
	return true
}
