package lab

import (
	"locklab/harness"
	"locklab/redislock"
)

var Suite = []*harness.Variant{
	{Name: "redis-mutex", Paper: "Lamport 1974", Remote: remote(func(c *redislock.Client, name string, o redislock.Options) locker { return c.Mutex(name, o) })},
}

// adapt names a type, and makes no lock.
func adapt(l any) bool { _, ok := l.(*redislock.Forgotten); return ok }
