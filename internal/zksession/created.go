package zksession

import (
	"encoding/binary"
	"locklab/internal/wire"

	"github.com/go-zookeeper/zk"
)

// CreateZxid is Create that also returns the czxid of the node, 0 if unknown. No other create
// with the same path may be in progress, even if the server appends a number to it.
//
// The header of every reply has the zxid of the last transaction that the server had applied. A
// server applies the transactions one by one and answers each before the next
// (FinalRequestProcessor). So in the reply to a create it is the czxid of the node, which the
// library reads and does not expose.
func (z *Conn) CreateZxid(path string, data []byte, flags int32, acl []zk.ACL) (string, uint64, error) {
	z.creations.Store(path, uint64(0))
	name, err := z.Conn.Create(path, data, flags, acl)
	zxid, _ := z.creations.LoadAndDelete(path)
	if err != nil {
		return "", 0, err
	}
	return name, zxid.(uint64), nil
}

// Zxid returns the greatest zxid in the replies of this session. Later writes have greater ones.
func (z *Conn) Zxid() uint64 { return uint64(z.zxid.Load()) }

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
		c.owner.creations.CompareAndSwap(path, uint64(0), zxid)
	}
}
