package chaos

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// signalTree stops or continues a process and its children, which may have their own
// process groups. It stops the parent first, so that it starts no more of them.
func signalTree(pid int, stop bool) error {
	sig := unix.SIGCONT
	if stop {
		sig = unix.SIGSTOP
	}
	if err := unix.Kill(pid, sig); err != nil {
		return fmt.Errorf("chaos: signal a worker process: %w", err)
	}
	for _, c := range children(pid) {
		signalTree(c, stop) // a child that has just ended needs no signal
	}
	return nil
}

func children(pid int) (out []int) {
	files, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			continue // it has ended
		}
		// "4711 (name that may hold anything) S 4710 ...": proc_pid_stat(5).
		f := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
		if len(f) > 1 && f[1] == strconv.Itoa(pid) {
			if n, err := strconv.Atoi(filepath.Base(filepath.Dir(name))); err == nil {
				out = append(out, n)
			}
		}
	}
	return out
}
