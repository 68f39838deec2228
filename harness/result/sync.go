package result

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// syncFile ignores files without a disk, such as pipes.
func syncFile(f *os.File) error {
	err := f.Sync()
	if err == nil || errors.Is(err, syscall.EINVAL) || errors.Is(err, errors.ErrUnsupported) {
		return nil
	}
	return fmt.Errorf("result: %w", err)
}

func syncDir(dir string) {
	if d, err := os.Open(dir); err == nil { // it may be writable but not readable
		d.Sync() // not every system has it for directories
		d.Close()
	}
}

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
