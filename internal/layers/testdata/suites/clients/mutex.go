package redislock

// Mutex is the lock of Lamport, 1974.
type Mutex struct{}

func (c *Client) Mutex(name string, o Options) *Mutex { return nil }

func (*Mutex) Lock() {}

// MutexOwner is a handle of a Mutex and no lock of its own.
type MutexOwner struct{}

func (m *Mutex) Owner() *MutexOwner { return nil }

func (*MutexOwner) Lock() {}
