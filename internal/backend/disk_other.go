//go:build !linux

package backend

func fileSystem(string) string { return "" }
