//go:build !unix

package machine

func processUsage() Usage { return Usage{} }
