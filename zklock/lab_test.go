package zklock_test

import (
	"locklab/harness"
	"locklab/zklock"
	"locklab/zklock/lab"
)

func counts(c *zklock.Client) harness.Counts {
	s := c.Stats()
	return harness.Counts{Requests: s.Requests, Notifications: s.Notifications}
}

func depth(s harness.Session) int { return s.(interface{ Depth() int }).Depth() }

func firstWriteRWMutex(c *zklock.Client, path string) *zklock.RWMutex {
	return lab.WatchFirst(c.RWMutex(path, zklock.Options{}))
}
