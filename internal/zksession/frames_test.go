package zksession

import (
	"bytes"
	"encoding/binary"
	"locklab/internal/wire"
	"slices"
	"testing"
)

// withoutZxids is a simple reference for blanking the zxids of a stream.
func withoutZxids(stream []byte) []byte {
	out := bytes.Clone(stream)
	for rest := out; len(rest) >= wire.LengthBytes; {
		size := uint64(binary.BigEndian.Uint32(rest))
		rest = rest[wire.LengthBytes:]
		body := rest[:min(size, uint64(len(rest)))]
		clear(body[min(4, len(body)):min(12, len(body))])
		rest = rest[len(body):]
	}
	return out
}

// heads is a reference parser: the first bytes of every body whose head is complete.
func heads(stream []byte) [][]byte {
	var out [][]byte
	for len(stream) >= wire.LengthBytes {
		size := binary.BigEndian.Uint32(stream)
		body := stream[wire.LengthBytes:]
		head := int(min(size, headBytes))
		if len(body) < head {
			break
		}
		out = append(out, body[:head])
		if uint64(len(body)) < uint64(size) {
			break
		}
		stream = body[size:]
	}
	return out
}

// FuzzFrames compares a stream that is split at cuts with the reference parser.
func FuzzFrames(f *testing.F) {
	stream := slices.Concat(
		frame(nil), frame([]byte{1}), frame([]byte("12345678")), frame([]byte("123456789")),
		frame(make([]byte, 300)), frame(nil))
	f.Add(stream, []byte{1})
	f.Add(stream, []byte{3, 0, 7})
	f.Add(stream, []byte{255})
	f.Add(stream[:len(stream)-302], []byte{2, 9})
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 1, 2, 3, 4, 5, 6, 7, 8, 9}, []byte{5})
	f.Fuzz(func(t *testing.T, stream, cuts []byte) {
		var got [][]byte
		p, passed := frames{blank: true}, bytes.Clone(stream)
		rest := passed
		for i := 0; len(rest) > 0; i++ {
			n := len(rest)
			if len(cuts) > 0 {
				n = min(n, max(1, int(cuts[i%len(cuts)])))
			}
			p.pass(rest[:n], func(head []byte) { got = append(got, bytes.Clone(head)) })
			rest = rest[n:]
		}
		if want := heads(stream); !slices.EqualFunc(got, want, bytes.Equal) {
			t.Fatalf("stream %x cut at %v:\n got %x\nwant %x", stream, cuts, got, want)
		}
		if want := withoutZxids(stream); !bytes.Equal(passed, want) {
			t.Fatalf("stream %x cut at %v passes as\n     %x\nwant %x", stream, cuts, passed, want)
		}
	})
}

func frame(body []byte) []byte {
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(body))), body...)
}

func words(ns ...int32) []byte {
	var b []byte
	for _, n := range ns {
		b = binary.BigEndian.AppendUint32(b, uint32(n))
	}
	return b
}
