package zksession

import (
	"encoding/binary"
	"locklab/internal/wire"
)

const headBytes = 24 // how much of a body is inspected

// frames follows one direction of a connection, however its bytes are split, from its start.
type frames struct {
	buf  [wire.LengthBytes + headBytes]byte
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
		end := wire.LengthBytes
		if f.have >= wire.LengthBytes {
			end += int(min(f.length(), headBytes))
		}
		n := copy(f.buf[f.have:end], p)
		if f.blank {
			const zxid, behind = wire.LengthBytes + 4, wire.LengthBytes + 12
			clear(p[min(max(zxid-f.have, 0), n):min(max(behind-f.have, 0), n)])
		}
		f.have += n
		p = p[n:]
		if f.have < wire.LengthBytes {
			continue
		}
		if head := int(min(f.length(), headBytes)); f.have == wire.LengthBytes+head {
			f.have = 0
			f.skip = f.length() - uint32(head)
			seen(f.buf[wire.LengthBytes : wire.LengthBytes+head])
		}
	}
}

func (f *frames) length() uint32 { return binary.BigEndian.Uint32(f.buf[:wire.LengthBytes]) }

func word(head []byte, i int) (int32, bool) {
	if len(head) < 4*i+4 {
		return 0, false
	}
	return int32(binary.BigEndian.Uint32(head[4*i:])), true
}
