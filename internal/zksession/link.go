package zksession

import (
	"encoding/binary"
	"errors"
	"locklab/internal/wire"
	"math"

	"github.com/go-zookeeper/zk"
)

// A Link is one TCP connection of a [Conn], and so part of one session.
type Link struct{ c *conn }

// ErrOtherLink is returned by [Conn.DeleteOn] if the connection is gone. Nothing was deleted.
var ErrOtherLink = errors.New("zksession: the request was for a connection that has gone")

// Link returns the latest connection. Later requests use it or a later one.
func (z *Conn) Link() Link {
	z.mu.Lock()
	defer z.mu.Unlock()
	return Link{z.now}
}

// DeleteOn deletes the node at path, whatever its version, if the request is sent on that
// connection. Without a connection the library keeps a request for the next one, perhaps of
// another session, when the caller's view of the node may be outdated. Such a request is changed
// to a version that no node has. No other DeleteOn of the same path may be in progress.
func (z *Conn) DeleteOn(on Link, path string) error {
	z.bound.Store(path, on.c)
	defer z.bound.Delete(path)
	err := z.Conn.Delete(path, -1)
	if errors.Is(err, zk.ErrBadVersion) {
		return ErrOtherLink
	}
	return err
}

// noVersion is a version that no node has: versions count from 0.
const noVersion = math.MinInt32

// checkBound makes packet harmless if it is a deletion that is bound to another connection than c.
// Every Write of the library is one whole packet; DeleteRequest is a path and a version.
func (c *conn) checkBound(packet []byte) {
	path, end := requestPath(packet, wire.OpDelete)
	if path == "" || len(packet) < end+4 {
		return
	}
	if want, ok := c.owner.bound.Load(path); ok && want != c {
		version := int32(noVersion)
		binary.BigEndian.PutUint32(packet[end:], uint32(version))
	}
}
