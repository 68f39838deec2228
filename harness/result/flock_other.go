//go:build !unix || solaris || aix

package result

import "os"

// lockFile does nothing: this system has no flock.
func lockFile(*os.File) error { return nil }
