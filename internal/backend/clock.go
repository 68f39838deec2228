package backend

import (
	"cmp"
	"context"
	_ "embed" // for the source of the shim
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"locklab/harness"
	"locklab/internal/child"
)

//go:embed c/clock.c
var clockSource []byte

const (
	clockName    = "clock" // of the file in a server's directory that its clock is set by
	clockLibrary = "clock.so"
	clockSize    = 16 // the offset in nanoseconds, and the process id of its reader
	clockEnv     = "LOCKLAB_CLOCK"
)

// buildClockShim builds a library in dir that sets the wall clock of a server. It uses the C
// compiler $CC, or else cc. The error wraps [harness.ErrUnavailable] on systems other than Linux or
// without a working compiler.
func buildClockShim(ctx context.Context, dir string) error {
	if runtime.GOOS != "linux" {
		return fmt.Errorf("%w: clocks of servers can be set on Linux only", harness.ErrUnavailable)
	}
	words := strings.Fields(cmp.Or(strings.TrimSpace(os.Getenv("CC")), "cc"))
	if _, err := exec.LookPath(words[0]); err != nil {
		return fmt.Errorf("%w: no C compiler, which the clock of a server is set by: %w: install gcc or clang, or name one in CC", harness.ErrUnavailable, err)
	}
	source := filepath.Join(dir, "clock.c")
	if err := os.WriteFile(source, clockSource, 0o600); err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, words[0], append(words[1:], "-std=c11", "-O2", "-shared", "-fPIC", "-o", filepath.Join(dir, clockLibrary), source)...)
	output, err := cmd.CombinedOutput()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil {
		return fmt.Errorf("%w: %s does not build the library that a server's clock is set by: %w: %s", harness.ErrUnavailable, words[0], err, child.LastWords(string(output)))
	}
	return nil
}

func clockEnviron(m member) (string, error) {
	path := filepath.Join(m.dir, clockName)
	return clockEnv + "=" + path, os.WriteFile(path, make([]byte, clockSize), 0o600)
}

// SetClock sets the wall clock of server i, even if it is stopped or killed, to this machine's
// plus offset, which a Restart keeps. Its monotonic clock is unchanged. The server must
// have been started with RedisOptions.Clock.
func (s *Server) SetClock(i int, offset time.Duration) error {
	one, err := s.hurt(i)
	if err != nil {
		return err
	}
	err = context.Cause(s.open)
	if err == nil {
		err = setClock(one.dir, s.process(one).PID(), offset)
	}
	if err != nil {
		err = fmt.Errorf("backend: the clock of %s server %d: %w", s.kind.Name, i, err)
	}
	return err
}

var errClock = errors.New("the server does not read its clock by the library that can set it")

// setClock sets the clock of process pid, whose directory is dir. The process maps the same file,
// so it sees the store as a whole.
func setClock(dir string, pid int, offset time.Duration) error {
	f, err := os.OpenFile(filepath.Join(dir, clockName), os.O_RDWR, 0)
	if errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("%w: it was not started with one that can be set", harness.ErrUsage)
	} else if err != nil {
		return err
	}
	defer f.Close()
	cell, err := unix.Mmap(int(f.Fd()), 0, clockSize, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return err
	}
	defer unix.Munmap(cell)
	words := (*[clockSize / 8]int64)(unsafe.Pointer(&cell[0])) // a page is aligned
	if reader := atomic.LoadInt64(&words[1]); reader != int64(pid) {
		return fmt.Errorf("%w (process %d does, and the server is %d)", errClock, reader, pid)
	}
	atomic.StoreInt64(&words[0], int64(offset))
	return nil
}
