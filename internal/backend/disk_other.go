//go:build !linux

package backend

// fileSystem returns "", unknown.
func fileSystem(string) string { return "" }
