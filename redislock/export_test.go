package redislock

// Careless returns the lock of redis-unsafe.
func Careless(c *Client, name string) Acquirer { return newCareless(c, name, Options{}) }
