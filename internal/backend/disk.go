package backend

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"time"

	"locklab/harness"
)

func onDisk(temp string) (string, error) {
	for _, dir := range []string{temp, "/var/tmp"} {
		if info, err := os.Stat(dir); err == nil && info.IsDir() && !slices.Contains([]string{"tmpfs", "ramfs"}, fileSystem(dir)) {
			return dir, nil
		}
	}
	return "", fmt.Errorf("%w: %s and /var/tmp are in memory, and durable servers need a disk: set TMPDIR to a directory on one", harness.ErrUnavailable, temp)
}

// syncs is the number of measured writes of syncSize bytes, about the bytes that a lock writes.
const (
	syncs    = 31
	syncSize = 256
)

// FileSystem returns the file system type of the servers' directory, such as "ext4", or "".
func (s *Server) FileSystem() string {
	if s.dir == nil {
		return ""
	}
	return fileSystem(s.dir.path)
}

// SyncTime returns the median time to persist a small append; 0 for the user's servers.
func (s *Server) SyncTime() (time.Duration, error) {
	if s.dir == nil {
		return 0, nil
	}
	f, err := os.CreateTemp(s.dir.path, "sync")
	if err != nil {
		return 0, fmt.Errorf("backend: %w", err)
	}
	defer os.Remove(f.Name())
	defer f.Close()
	var took []time.Duration
	for range syncs {
		begin := time.Now()
		_, err := f.Write(make([]byte, syncSize))
		if err := cmp.Or(err, f.Sync()); err != nil {
			return 0, fmt.Errorf("backend: %w", err)
		}
		took = append(took, time.Since(begin))
	}
	slices.Sort(took)
	return took[len(took)/2], nil
}
