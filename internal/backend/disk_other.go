//go:build !linux

package backend

// fileSystem returns the kind of file system that dir is on, "" because this system is
// not asked.
func fileSystem(string) string { return "" }
