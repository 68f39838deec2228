//go:build linux || darwin || freebsd

package backend

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"locklab/harness"
)

var errClock = errors.New("the server does not read its clock by the library that can set it")

func (g *group) setClock(i int, offset time.Duration) error {
	if err := context.Cause(g.open); err != nil {
		return err
	}
	s := g.servers[i]
	return setClock(s.dir, g.process(s).PID(), offset)
}

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
