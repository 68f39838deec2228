package wire

import (
	"encoding/binary"
	"fmt"
	"io"
)

// LengthBytes is the size of the big-endian length before the body of each ZooKeeper message. The
// first body of each direction is the handshake. Every later one begins with the 32-bit xid of
// its request. In requests the operation code follows, in replies a zxid and an error code.
const LengthBytes = 4

// CutFrame returns the length of the frame at the start of stream, or 0 if it is incomplete. An
// error wraps ErrForeign: the length belongs to a four-letter command, or not of ZooKeeper.
func CutFrame(stream []byte) (int, error) {
	if len(stream) < LengthBytes {
		return 0, nil
	}
	n := binary.BigEndian.Uint32(stream)
	switch {
	case n > MaxMessage:
		return 0, ErrForeign
	case uint64(len(stream)) < LengthBytes+uint64(n):
		return 0, nil
	}
	return LengthBytes + int(n), nil
}

// ReadFrame reads the body of a frame. An error wraps ErrForeign if it is longer than most
// bytes.
func ReadFrame(r io.Reader, most uint32) ([]byte, error) {
	var head [LengthBytes]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return nil, err
	}
	n := binary.BigEndian.Uint32(head[:])
	if n > most {
		return nil, Foreign(head[:])
	}
	body := make([]byte, n)
	_, err := io.ReadFull(r, body)
	return body, err
}

// Foreign returns an error that wraps ErrForeign, for input that begins with head: four bytes.
func Foreign(head []byte) error {
	const alert, version = 21, 3 // a TLS record: its type, and the first byte of its version
	if head[0] == alert && head[1] == version {
		return fmt.Errorf("%w: TLS", ErrForeign)
	}
	return fmt.Errorf("%w: its reply begins with %q", ErrForeign, head)
}

// Request returns the frame of a request without arguments.
func Request(xid, op int32) []byte {
	b := binary.BigEndian.AppendUint32(nil, 8)
	b = binary.BigEndian.AppendUint32(b, uint32(xid))
	return binary.BigEndian.AppendUint32(b, uint32(op))
}

// Offsets in the frame of a ConnectRequest: the last zxid that the client has seen, and its
// session, 0 for a new one. The protocol's version is before them, the timeout between.
const (
	HelloZxid    = LengthBytes + 4
	HelloSession = HelloZxid + 8 + 4
)

// XidEvent is the xid of a watch event.
const XidEvent = -1

// Operation codes (ZooDefs.OpCode in ZooKeeper 3.8).
const (
	OpCreate          = 1
	OpDelete          = 2
	OpExists          = 3
	OpGetData         = 4
	OpSetData         = 5
	OpGetACL          = 6
	OpSetACL          = 7
	OpGetChildren     = 8
	OpSync            = 9
	OpPing            = 11
	OpGetChildren2    = 12
	OpCheck           = 13
	OpMulti           = 14
	OpCreate2         = 15
	OpRemoveWatches   = 18
	OpCreateContainer = 19
	OpCreateTTL       = 21
	OpMultiRead       = 22
	OpAuth            = 100
	OpSetWatches      = 101
	OpSetWatches2     = 105
	OpAddWatch        = 106
	OpCloseSession    = -11
	OpError           = -1 // of a failed part in the reply to a multi
)

// A Record decodes ZooKeeper's serialization: big-endian numbers, and strings, buffers and
// vectors after a 32-bit length, which is -1 for null. (zookeeper.jute and the
// BinaryInputArchive of ZooKeeper 3.8.) After the first read past the end its methods return
// zeros.
type Record struct {
	rest  []byte
	short bool
}

// NewRecord returns a Record at the start of b.
func NewRecord(b []byte) *Record { return &Record{rest: b} }

// Short reports whether a method has read past the end.
func (r *Record) Short() bool { return r.short }

// Left returns the number of bytes that have not been read.
func (r *Record) Left() int { return len(r.rest) }

// Skip passes n bytes.
func (r *Record) Skip(n int) { r.take(n) }

func (r *Record) take(n int) []byte {
	if n < 0 || n > len(r.rest) {
		r.rest, r.short = nil, true
		return nil
	}
	p := r.rest[:n]
	r.rest = r.rest[n:]
	return p
}

// Int reads a number of 32 bits.
func (r *Record) Int() int32 {
	if p := r.take(4); p != nil {
		return int32(binary.BigEndian.Uint32(p))
	}
	return 0
}

// Long reads a number of 64 bits.
func (r *Record) Long() int64 {
	if p := r.take(8); p != nil {
		return int64(binary.BigEndian.Uint64(p))
	}
	return 0
}

// Bool reads a truth value.
func (r *Record) Bool() bool {
	p := r.take(1)
	return p != nil && p[0] != 0
}

// Buffer reads bytes after their length; nil for null. They are part of the input.
func (r *Record) Buffer() []byte {
	n := r.Int()
	if n == -1 {
		return nil
	}
	return r.take(int(n))
}

// Text reads a string; "" for null.
func (r *Record) Text() string { return string(r.Buffer()) }

// Each reads a vector. It calls each for every element that the length claims, while bytes are left.
func (r *Record) Each(each func()) {
	n := r.Int()
	if n < -1 {
		r.short = true
	}
	for ; n > 0 && !r.short; n-- {
		each()
	}
}

// Texts reads a vector of strings.
func (r *Record) Texts() (out []string) {
	r.Each(func() {
		if s := r.Text(); !r.short {
			out = append(out, s)
		}
	})
	return out
}
