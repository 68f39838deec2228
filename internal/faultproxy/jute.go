package faultproxy

import "encoding/binary"

// A jute decodes ZooKeeper's serialization: big-endian numbers, and strings, buffers and
// vectors after a 32-bit length, which is -1 for null. (zookeeper.jute and the
// BinaryInputArchive of ZooKeeper 3.8.)
//
// It allocates no more than the available bytes can fill, regardless of the lengths in
// them. After the first read past the end it is bad and returns zeros.
type jute struct {
	b   []byte
	bad bool
}

func (j *jute) take(n int) []byte {
	if n < 0 || n > len(j.b) {
		j.b, j.bad = nil, true
		return nil
	}
	p := j.b[:n]
	j.b = j.b[n:]
	return p
}

func (j *jute) int() int32 {
	if p := j.take(4); p != nil {
		return int32(binary.BigEndian.Uint32(p))
	}
	return 0
}

func (j *jute) long() int64 {
	if p := j.take(8); p != nil {
		return int64(binary.BigEndian.Uint64(p))
	}
	return 0
}

func (j *jute) bool() bool {
	p := j.take(1)
	return p != nil && p[0] != 0
}

func (j *jute) buffer() []byte {
	n := j.int()
	if n == -1 {
		return nil
	}
	return j.take(int(n))
}

func (j *jute) string() string { return string(j.buffer()) }

// vector calls each for every element that the length claims, while bytes are left.
func (j *jute) vector(each func()) {
	n := j.int()
	if n < -1 {
		j.bad = true
	}
	for ; n > 0 && !j.bad; n-- {
		each()
	}
}

func (j *jute) strings() (out []string) {
	j.vector(func() {
		if s := j.string(); !j.bad {
			out = append(out, s)
		}
	})
	return out
}

func (j *jute) acl() {
	j.vector(func() { j.int(); j.buffer(); j.buffer() })
}

func (j *jute) stat() *ZooStat {
	s := &ZooStat{Czxid: j.long(), Mzxid: j.long()}
	j.take(16) // ctime, mtime
	s.Version, s.Cversion = j.int(), j.int()
	j.int() // aversion
	s.Owner, s.DataLength, s.Children, s.Pzxid = j.long(), j.int(), j.int(), j.long()
	return s
}
