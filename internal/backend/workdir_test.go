//go:build linux || darwin || freebsd

package backend

import (
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
		if err != nil {
			t.Fatal(err)
		}
		defer d.remove()
		live = append(live, d.path)

		dead, err := newWorkdir(temp, k.Name)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dead.path, "file"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		dead.lock.Close() // as the kernel does when the owner dies
	}
	// Names that are not ours, or not directories.
	elsewhere := t.TempDir()
	for _, name := range []string{"locklab-redis-backup", "locklab-redis-1.old", "xlocklab-redis-1", "locklab-other-1"} {
		path := filepath.Join(temp, name)
		if err := os.Mkdir(path, 0o700); err != nil {
			t.Fatal(err)
		}
		live = append(live, path)
	}
	link, file := filepath.Join(temp, "locklab-redis-1"), filepath.Join(temp, "locklab-redis-2")
	if err := os.Symlink(elsewhere, link); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	live = append(live, link, file)

	sweep(temp)
	left, err := filepath.Glob(temp + "/*")
	if err != nil {
		t.Fatal(err)
	}
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
			if err := os.Mkdir(path, 0o700); err != nil {
				t.Fatal(err)
			}
			f, err := os.Open(path)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			if err := errors.Join(os.Remove(path), again(path)); err != nil {
				t.Fatal(err)
			}
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
	stop := make(chan struct{})
	for range 2 {
		sweeper.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					sweep(temp)
				}
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
	close(stop)
	sweeper.Wait()
}
