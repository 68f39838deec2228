package zksession

import "encoding/binary"

// A frame of the ZooKeeper protocol is a 32-bit big-endian length and a body. Every body except
// the two of the handshake starts with the xid of its request. In requests the operation code
// follows, in replies a zxid and an error code (zookeeper.jute, in the ZooKeeper source).
const (
	lengthBytes = 4
	headBytes   = 24 // how much of a body is inspected
)

// frames follows one direction of a connection, however its bytes are split. The zero value is
// before the first frame.
type frames struct {
	buf  [lengthBytes + headBytes]byte
	have int    // bytes in buf
	skip uint32 // bytes of the current body to skip

	blank bool // overwrite the zxids of replies with 0
}

// pass takes the next bytes of the stream. It calls seen with the first headBytes of each body,
// or the whole body if that is shorter, as soon as they have passed.
func (f *frames) pass(p []byte, seen func(head []byte)) {
	for len(p) > 0 {
		if f.skip > 0 {
			n := min(f.skip, uint32(min(len(p), 1<<30)))
			f.skip -= n
			p = p[n:]
			continue
		}
		end := lengthBytes
		if f.have >= lengthBytes {
			end += int(min(f.length(), headBytes))
		}
		n := copy(f.buf[f.have:end], p)
		if f.blank {
			const zxid, behind = lengthBytes + 4, lengthBytes + 12
			clear(p[min(max(zxid-f.have, 0), n):min(max(behind-f.have, 0), n)])
		}
		f.have += n
		p = p[n:]
		if f.have < lengthBytes {
			continue
		}
		if head := int(min(f.length(), headBytes)); f.have == lengthBytes+head {
			f.have = 0
			f.skip = f.length() - uint32(head)
			seen(f.buf[lengthBytes : lengthBytes+head])
		}
	}
}

func (f *frames) length() uint32 { return binary.BigEndian.Uint32(f.buf[:lengthBytes]) }

// word returns 32-bit field i of head, and false if head is too short.
func word(head []byte, i int) (int32, bool) {
	if len(head) < 4*i+4 {
		return 0, false
	}
	return int32(binary.BigEndian.Uint32(head[4*i:])), true
}
