package zksession

import (
	"encoding/binary"
	"errors"
	"math"
	"sync"

	"github.com/go-zookeeper/zk"
)

// A Link is one TCP connection of a [Conn], and so part of one session.
type Link struct{ c *conn }

// ErrOtherLink is returned by [Conn.DeleteOn] if the connection has gone. Nothing was
// deleted.
var ErrOtherLink = errors.New("zksession: the request was for a connection that has gone")

// Link returns the latest connection. What is asked after that is asked on it or on a
// later one.
func (z *Conn) Link() Link {
	z.mu.Lock()
	defer z.mu.Unlock()
	return Link{z.now}
}

// DeleteOn deletes the node at path, whatever its version, if the request goes out on
// that connection. The library keeps a request that comes while there is no connection
// for the next one, which may be of another session: what was known of the node may be
// out of date by then. Such a request is made one for a version that no node has. No other
// DeleteOn of the same path may be in progress.
func (z *Conn) DeleteOn(on Link, path string) error {
	z.bound.bind(path, on.c)
	defer z.bound.bind(path, nil)
	err := z.Conn.Delete(path, -1)
	if errors.Is(err, zk.ErrBadVersion) {
		return ErrOtherLink
	}
	return err
}

// bindings are the connections of the deletions by [Conn.DeleteOn] that are in progress.
type bindings struct {
	mu sync.Mutex
	on map[string]*conn // by path
}

func (b *bindings) bind(path string, c *conn) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if c == nil {
		delete(b.on, path)
		return
	}
	if b.on == nil {
		b.on = make(map[string]*conn)
	}
	b.on[path] = c
}

// noVersion is a version that no node has: they count from 0.
const noVersion = math.MinInt32

// check makes packet harmless if it is a deletion that is bound to another connection
// than c. The packet is whole, as every Write of the library: DeleteRequest is a path and
// a version.
func (b *bindings) check(c *conn, packet []byte) {
	path, end := requestPath(packet, opDelete)
	if path == "" || len(packet) < end+4 {
		return
	}
	b.mu.Lock()
	want := b.on[path]
	b.mu.Unlock()
	if want != nil && want != c {
		version := int32(noVersion)
		binary.BigEndian.PutUint32(packet[end:], uint32(version))
	}
}
