package wire

import (
	"bytes"
	"testing"
)

// FuzzReadFrame: a frame that is read is a prefix of the input, with the length of CutFrame.
func FuzzReadFrame(f *testing.F) {
	f.Add([]byte("\x00\x00\x00\x02ab"))
	f.Add([]byte("\xff\xff\xff\xff"))
	f.Fuzz(func(t *testing.T, in []byte) {
		body, err := ReadFrame(bytes.NewReader(in), 1024)
		n, _ := CutFrame(in)
		if err == nil && (!bytes.HasPrefix(in[LengthBytes:], body) || n != LengthBytes+len(body)) {
			t.Errorf("%q is read as %q, and cut at %d", in, body, n)
		}
	})
}

// FuzzValue: a value is cut at its end, and only there.
func FuzzValue(f *testing.F) {
	for _, text := range []string{"+OK\r\n", "$2\r\nab\r\n", "*2\r\n:1\r\n*-1\r\n", "|1\r\n+a\r\n:1\r\n%1\r\n+k\r\n_\r\n", ">0\r\n"} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		v, n, err := ParseValue(in)
		if n == 0 || err != nil {
			return
		}
		for i := range n {
			if _, m, err := ParseValue(in[:i]); m != 0 || err != nil {
				t.Fatalf("%d bytes of %q are cut at %d, %v", i, in, m, err)
			}
		}
		if got, m, err := ParseValue(in[:n]); got.String() != v.String() || m != n || err != nil {
			t.Errorf("%q is parsed as %v, and as %v without what follows (%d, %v)", in, v, got, m, err)
		}
	})
}
