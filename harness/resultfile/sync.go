package resultfile

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// syncFile waits until what was written to f is on the disk. A file that has none,
// such as a pipe, is as safe as it can be.
func syncFile(f *os.File) error {
	err := f.Sync()
	if err == nil || errors.Is(err, syscall.EINVAL) || errors.Is(err, errors.ErrUnsupported) {
		return nil
	}
	return fmt.Errorf("resultfile: %w", err)
}

// syncDir waits until the names of the files in dir are on the disk, where the
// system can be asked for that.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return nil // it may be written and not be read
	}
	defer d.Close()
	_ = d.Sync() // not every system has it for directories
	return nil
}

// writeFile writes a file, which is on the disk then.
func writeFile(name string, text []byte) error {
	f, err := os.OpenFile(name, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err == nil {
		err = syncFile(f)
	}
	return errors.Join(err, f.Close())
}
