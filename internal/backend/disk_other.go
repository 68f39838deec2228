//go:build !linux

package backend

// fileSystem returns the kind of file system of dir, always "" on this system.
func fileSystem(string) string { return "" }
