package redislock

// Client makes locks, and is none.
type Client struct{}

func (c *Client) Close() error { return nil }

// Options belong to no lock.
type Options struct{}

// part is what several locks are made of.
type part struct{}

func (*part) Lock() {}
