package lock

import "time"

// A Contender is a client that holds a lock or waits for it.
type Contender struct {
	Name  string    // ClientOptions.Name of the client; without one, another name of the owner or ""
	Since time.Time // when it got the lock or began to wait, by the server's clock; zero if unknown
	Token uint64    // of its lease or of its place in the queue; 0 without one
}
