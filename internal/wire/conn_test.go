package wire

import (
	"encoding/binary"
	"errors"
	"io"
	"net"
	"slices"
	"testing"
	"time"

	"locklab/harness"
)

// script is a net.Conn that reads from a byte slice, so many bytes at a time,
// and swallows what is written.
type script struct {
	net.Conn
	in       []byte
	step     int
	reads    int
	deadline time.Time
}

func (s *script) Read(p []byte) (int, error) {
	s.reads++
	if len(s.in) == 0 {
		return 0, io.EOF
	}
	n := copy(p[:min(len(p), s.step)], s.in)
	s.in = s.in[n:]
	return n, nil
}

func (s *script) Write(p []byte) (int, error)       { return len(p), nil }
func (s *script) SetReadDeadline(t time.Time) error { s.deadline = t; return nil }

// TestConnCounts sends and receives every kind of packet, split in every way.
func TestConnCounts(t *testing.T) {
	requests := [][]byte{
		words(0, 0, 0, 4000), // the handshake, whatever it looks like
		words(1, opCreate, 7),
		words(-2, opPing),
		words(-4, opAuth), words(2, opAuth),
		words(-8, opSetWatches), words(3, opSetWatches), words(4, opSetWatches2),
		words(5, opCreate),
		words(6, opCloseSession),
	}
	replies := [][]byte{
		words(0, 4000, 1, 2, 16), // the handshake: a session of 4 s
		words(1, 0, 9, 0, 5, 5),
		words(-1, 0, 0, 0, 3),
		words(-2, 0, 9, 0),
		words(-1, 0, 0, 0, 3),
	}
	for step := 1; step < 40; step++ {
		var in []byte
		for _, r := range replies {
			in = append(in, frame(r)...)
		}
		z := &ZooKeeperConn{counter: new(Counter)}
		c := &conn{Conn: &script{in: in, step: step}, owner: z}
		for p := range slices.Chunk(slices.Concat(mapFrames(requests)...), step) {
			if n, err := c.Write(p); n != len(p) || err != nil {
				t.Fatalf("Write = %d, %v", n, err)
			}
		}
		if _, err := io.Copy(io.Discard, struct{ io.Reader }{c}); err != nil {
			t.Fatal(err)
		}
		if got, want := z.Counts(), (harness.Counts{Requests: 2, Notifications: 2}); got != want {
			t.Errorf("in steps of %d: counts %+v, want %+v", step, got, want)
		}
		if got := z.SessionTimeout(); got != 4*time.Second {
			t.Errorf("in steps of %d: session timeout %v, want 4s", step, got)
		}
	}
}

// TestReadOnce: a packet that has arrived costs one read of the TCP connection,
// though the library asks for its length first.
func TestReadOnce(t *testing.T) {
	in := slices.Concat(frame(words(0, 4000, 1, 2, 16)), frame(words(1, 0, 9, 0, 5, 5)))
	s := &script{in: in, step: len(in)}
	c := &conn{Conn: s, owner: &ZooKeeperConn{counter: new(Counter)}}
	for range 2 {
		var size [4]byte
		if _, err := io.ReadFull(c, size[:]); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(c, make([]byte, binary.BigEndian.Uint32(size[:]))); err != nil {
			t.Fatal(err)
		}
	}
	if s.reads != 1 {
		t.Errorf("two packets that came together cost %d reads, want 1", s.reads)
	}
}

func mapFrames(bodies [][]byte) [][]byte {
	var out [][]byte
	for _, b := range bodies {
		out = append(out, frame(b))
	}
	return out
}

// TestLastContact: an answer proves that its own request was heard, and
// nothing about later ones, even of the same xid.
func TestLastContact(t *testing.T) {
	z := &ZooKeeperConn{counter: new(Counter)}
	c := &conn{owner: z}
	base := time.Now()
	at := func(s int) time.Time { return base.Add(time.Duration(s) * time.Second) }
	c.wrote(words(0, 0), at(0), "") // handshake
	c.read(words(0, 4000))
	c.wrote(words(-2, opPing), at(1), "")
	c.wrote(words(7, opCreate), at(2), "")
	c.wrote(words(-2, opPing), at(3), "")
	for _, step := range []struct {
		xid  int32
		want time.Time
	}{
		{-1, time.Time{}}, // a watch event says nothing
		{-2, at(1)},       // the first ping, not the second
		{99, at(1)},       // a stranger
		{7, at(2)},
		{-2, at(3)},
		{-2, at(3)}, // no ping is pending
	} {
		c.read(words(step.xid, 0))
		if got := z.LastContact(); !got.Equal(step.want) {
			t.Errorf("after the answer to %d: last contact %v, want %v", step.xid, got.Sub(base), step.want.Sub(base))
		}
	}
	if len(c.pending) != 0 {
		t.Errorf("%d requests are still pending", len(c.pending))
	}
}

// TestHandshakeDeadline: nothing moves the deadline of a handshake back.
func TestHandshakeDeadline(t *testing.T) {
	s := new(script)
	dead := time.Now().Add(time.Second)
	c := &conn{Conn: s, owner: &ZooKeeperConn{counter: new(Counter)}, dead: dead}
	for _, ask := range []time.Time{{}, dead.Add(time.Hour)} {
		c.SetReadDeadline(ask)
		if !s.deadline.Equal(dead) {
			t.Errorf("SetReadDeadline(%v) during the handshake sets %v, want %v", ask, s.deadline, dead)
		}
	}
	sooner := dead.Add(-time.Millisecond)
	if c.SetReadDeadline(sooner); !s.deadline.Equal(sooner) {
		t.Error("a sooner deadline is not kept")
	}
	c.read(words(0, 4000))
	if c.SetReadDeadline(time.Time{}); !s.deadline.IsZero() {
		t.Error("the deadline outlives the handshake")
	}
}

func TestEndpointMistakes(t *testing.T) {
	for _, at := range []harness.Endpoint{
		{},
		{Kind: harness.KindZooKeeper, Addrs: [][]string{{"127.0.0.1:1"}}},
		{Kind: harness.KindRedis},
		{Kind: harness.KindRedis, Addrs: [][]string{{}}},
		{Kind: harness.KindRedis, Addrs: [][]string{{"127.0.0.1:1", "127.0.0.1:2"}}},
	} {
		if _, _, err := Redis(at); !errors.Is(err, harness.ErrUsage) {
			t.Errorf("Redis(%+v) = %v, want ErrUsage", at, err)
		}
	}
	at := harness.Endpoint{Kind: harness.KindRedis, Addrs: [][]string{{"127.0.0.1:1"}}}
	if _, err := ZooKeeper(t.Context(), at, ZooKeeperOptions{}); !errors.Is(err, harness.ErrUsage) {
		t.Errorf("ZooKeeper(%+v) = %v, want ErrUsage", at, err)
	}
	at.Kind = harness.KindZooKeeper
	for _, at.SessionTimeout = range []time.Duration{-1, 25 * 24 * time.Hour, 1 << 62} {
		if _, err := ZooKeeper(t.Context(), at, ZooKeeperOptions{}); !errors.Is(err, harness.ErrUsage) {
			t.Errorf("ZooKeeper(%+v) = %v, want ErrUsage", at, err)
		}
	}
}
