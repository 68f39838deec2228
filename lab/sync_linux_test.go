package lab

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestRunReachesTheDisk: during a run, the results are on the disk. Without a sync, Linux
// would write them half a minute later.
func TestRunReachesTheDisk(t *testing.T) {
	cmd := locklab(t, "run", "--locks", "mcs", "--workers", "1", "--rounds", "1000", "--duration", "20ms", "--out", "run")
	var fs unix.Statfs_t
	requireNoError(t, unix.Statfs(cmd.Dir, &fs))
	if fs.Type == unix.TMPFS_MAGIC {
		t.Skip("the temporary directory has no disk: it is in memory")
	}
	startCommand(t, cmd)
	name := filepath.Join(cmd.Dir, "run", "results.jsonl")
	for begin := time.Now(); time.Since(begin) < 4*time.Second; time.Sleep(3 * time.Millisecond) {
		f, err := os.Open(name)
		if err != nil {
			continue // it has not begun
		}
		info, serr := f.Stat()
		var stat unix.Cachestat_t
		cerr := unix.Cachestat(uint(f.Fd()), &unix.CachestatRange{}, &stat, 0)
		f.Close()
		switch {
		case errors.Is(cerr, unix.ENOSYS) || errors.Is(cerr, unix.EPERM):
			t.Skipf("the kernel does not tell what the disk lacks: %v", cerr)
		case serr != nil || cerr != nil:
			t.Fatal(serr, cerr)
		case info.Size() > 0 && stat.Dirty+stat.Writeback == 0:
			return
		}
	}
	t.Error("the disk has at no time all that was measured")
}
