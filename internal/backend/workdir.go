package backend

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"

	"golang.org/x/sys/unix"

	"locklab/harness"
)

// A workdir is a temporary directory with a living owner: the process that holds its lock.
type workdir struct {
	path string
	lock *os.File
}

var workdirName = regexp.MustCompile(`^locklab-(redis|zookeeper)-[0-9]+$`)

// newWorkdir makes a directory in temp. The error wraps [harness.ErrUnavailable] if it cannot.
func newWorkdir(temp, kind string) (*workdir, error) {
	for {
		path, err := os.MkdirTemp(temp, "locklab-"+kind+"-")
		if err != nil {
			return nil, fmt.Errorf("%w: no directory for its files: %w: set TMPDIR to a writable directory", harness.ErrUnavailable, err)
		}
		d, err := lockWorkdir(path)
		if err == nil {
			return d, nil
		}
		// The sweep of another process saw the directory before it was locked
		// and removes it. Anything else is a real error.
		if !errors.Is(err, unix.EWOULDBLOCK) && !errors.Is(err, os.ErrNotExist) {
			return nil, errors.Join(err, os.Remove(path))
		}
	}
}

// lockWorkdir locks the directory: EWOULDBLOCK if it has an owner, ErrNotExist if it is gone.
func lockWorkdir(path string) (*workdir, error) {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: path, Err: err}
	}
	d := &workdir{path, os.NewFile(uintptr(fd), path)}
	if err := d.claim(); err != nil {
		d.lock.Close()
		return nil, err
	}
	return d, nil
}

// claim takes the lock, and checks that the previous owner has not removed the directory.
func (d *workdir) claim() error {
	if err := unix.Flock(int(d.lock.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		return &os.PathError{Op: "flock", Path: d.path, Err: err}
	}
	opened, err := d.lock.Stat()
	if err != nil {
		return err
	}
	named, err := os.Lstat(d.path)
	if err != nil {
		return err
	}
	if !os.SameFile(opened, named) { // another one, or a link
		return &os.PathError{Op: "flock", Path: d.path, Err: os.ErrNotExist}
	}
	return nil
}

func (d *workdir) remove() error {
	return errors.Join(os.RemoveAll(d.path), d.lock.Close())
}

// sweep removes the directories in temp whose owner is dead, except other users'.
func sweep(temp string) {
	entries, _ := os.ReadDir(temp)
	for _, e := range entries {
		if !workdirName.MatchString(e.Name()) {
			continue
		}
		if d, err := lockWorkdir(filepath.Join(temp, e.Name())); err == nil {
			d.remove()
		}
	}
}
