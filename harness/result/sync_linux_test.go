package result

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

func unwrittenBytes(t *testing.T, name string) uint64 {
	t.Helper()
	f, err := os.Open(name)
	requireNoError(t, err)
	defer f.Close()
	var stat unix.Cachestat_t
	err = unix.Cachestat(uint(f.Fd()), &unix.CachestatRange{}, &stat, 0)
	if errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EPERM) || errors.Is(err, unix.EOPNOTSUPP) {
		t.Skipf("the kernel does not tell what the disk lacks: %v", err)
	}
	requireNoError(t, err)
	return stat.Dirty + stat.Writeback
}

func TestOnDisk(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	var fs unix.Statfs_t
	requireNoError(t, unix.Statfs(t.TempDir(), &fs))
	if fs.Type == unix.TMPFS_MAGIC {
		t.Skip("the temporary directory has no disk: it is in memory")
	}
	control := filepath.Join(t.TempDir(), "control")
	requireNoError(t, os.WriteFile(control, make([]byte, 1<<16), 0o644))
	if unwrittenBytes(t, control) == 0 {
		t.Skip("this disk has everything at once: nothing could be missing")
	}
	w := createRun(t, dir, Manifest{})
	check := func(after, name string) {
		t.Helper()
		if n := unwrittenBytes(t, filepath.Join(dir, name)); n > 0 {
			t.Errorf("after %s, the disk lacks %d pages of %s", after, n, name)
		}
	}
	check("Create", ManifestName)
	requireNoError(t, errors.Join(w.Append(Record{Result: sample()}), w.Sync()))
	check("Sync", ResultsName)
	requireNoError(t, w.Finish(func(m *Manifest) { m.Interrupted = true }))
	check("Finish", ManifestName)
}
