package zksession

import (
	"encoding/binary"
	"locklab/internal/wire"
	"sync"

	"github.com/go-zookeeper/zk"
)

// creations are the nodes that [Conn.CreateZxid] is making. The header of every reply has the
// zxid of the last transaction that the server had applied. A server applies the transactions
// one by one and answers each before the next (FinalRequestProcessor). So in the reply to a
// create it is the czxid of the node, which the library reads and does not expose.
type creations struct {
	mu   sync.Mutex
	zxid map[string]uint64 // by the requested path; 0 before the reply
}

// CreateZxid is Create that also returns the czxid of the node, 0 if unknown. No other create
// with the same path may be in progress, even if the server appends a number to it.
func (z *Conn) CreateZxid(path string, data []byte, flags int32, acl []zk.ACL) (string, uint64, error) {
	z.creations.expect(path)
	name, err := z.Conn.Create(path, data, flags, acl)
	zxid := z.creations.take(path)
	if err != nil {
		return "", 0, err
	}
	return name, zxid, nil
}

// Zxid returns the greatest zxid in the replies of this session. Later writes have greater ones.
func (z *Conn) Zxid() uint64 { return uint64(z.zxid.Load()) }

func (c *creations) expect(path string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.zxid == nil {
		c.zxid = make(map[string]uint64)
	}
	c.zxid[path] = 0
}

func (c *creations) take(path string) uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	zxid := c.zxid[path]
	delete(c.zxid, path)
	return zxid
}

func (c *creations) done(path string, zxid uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ok := c.zxid[path]; ok {
		c.zxid[path] = zxid
	}
}

// requestPath returns the path in a request packet of that kind and where it ends; "" for other
// packets. The library writes whole packets: length, two words of header, path, and more.
func requestPath(packet []byte, kind int32) (path string, end int) {
	r := wire.NewRecord(packet[min(wire.LengthBytes, len(packet)):])
	_, op, path := r.Int(), r.Int(), r.Text()
	if r.Short() || op != kind {
		return "", 0
	}
	return path, len(packet) - r.Left()
}

func createPath(packet []byte) string {
	path, _ := requestPath(packet, wire.OpCreate)
	return path
}

// created records the zxid of a reply, and a created node's czxid. The caller holds c.mu.
func (c *conn) created(path string, head []byte) {
	const at, code, end = 4, 12, 16 // ReplyHeader is xid, zxid, error
	if len(head) < end {
		return
	}
	zxid := binary.BigEndian.Uint64(head[at:])
	if z := &c.owner.zxid; int64(zxid) > z.Load() {
		z.Store(int64(zxid))
	}
	if path != "" && binary.BigEndian.Uint32(head[code:]) == 0 {
		c.owner.creations.done(path, zxid)
	}
}
