package backend

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
)

func TestSweep(t *testing.T) {
	temp := t.TempDir()
	var live []string
	for _, k := range Kinds {
		d, err := newWorkdir(temp, k.Name)
		requireNoError(t, err)
		defer d.remove()
		live = append(live, d.path)

		dead, err := newWorkdir(temp, k.Name)
		requireNoError(t, err)
		requireNoError(t, os.WriteFile(filepath.Join(dead.path, "file"), nil, 0o600))
		dead.lock.Close() // as the kernel does when the owner dies
	}
	// Names that are not ours, or not directories.
	elsewhere := t.TempDir()
	for _, name := range []string{"locklab-redis-backup", "locklab-redis-1.old", "xlocklab-redis-1", "locklab-other-1"} {
		path := filepath.Join(temp, name)
		requireNoError(t, os.Mkdir(path, 0o700))
		live = append(live, path)
	}
	link, file := filepath.Join(temp, "locklab-redis-1"), filepath.Join(temp, "locklab-redis-2")
	requireNoError(t, os.Symlink(elsewhere, link))
	requireNoError(t, os.WriteFile(file, nil, 0o600))
	live = append(live, link, file)

	sweep(temp)
	left, err := filepath.Glob(temp + "/*")
	requireNoError(t, err)
	slices.Sort(live)
	if !slices.Equal(left, live) {
		t.Errorf("left:\n%q\nwant:\n%q", left, live)
	}
	if _, err := os.Stat(elsewhere); err != nil {
		t.Errorf("the sweep followed a link: %v", err)
	}
}

// A lock on a removed directory is worth nothing, even if the name is in use again.
func TestClaimRemoved(t *testing.T) {
	for name, again := range map[string]func(path string) error{
		"gone":  func(string) error { return nil },
		"again": func(path string) error { return os.Mkdir(path, 0o700) },
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "locklab-redis-1")
			requireNoError(t, os.Mkdir(path, 0o700))
			f, err := os.Open(path)
			requireNoError(t, err)
			defer f.Close()
			requireNoError(t, errors.Join(os.Remove(path), again(path)))
			if err := (&workdir{path, f}).claim(); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("error is %v, want ErrNotExist", err)
			}
		})
	}
}

// A directory is not swept between its making and its locking, nor locked after it was swept.
func TestSweepWhileMaking(t *testing.T) {
	temp := t.TempDir()
	var makers, sweeper sync.WaitGroup
	ctx, stop := context.WithCancel(t.Context())
	for range 2 {
		sweeper.Go(func() {
			for ctx.Err() == nil {
				sweep(temp)
			}
		})
	}
	for range 4 {
		makers.Go(func() {
			for range 100 {
				d, err := newWorkdir(temp, "redis")
				if err != nil {
					t.Error(err)
					return
				}
				if _, err := os.Stat(d.path); err != nil {
					t.Errorf("a directory with a living owner was swept: %v", err)
				}
				if err := d.remove(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	makers.Wait()
	stop()
	sweeper.Wait()
}
