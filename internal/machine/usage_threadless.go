//go:build !linux && !freebsd

package machine

func threadUsage() (Usage, bool) { return Usage{}, false }
