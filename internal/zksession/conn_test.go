package zksession

import (
	"bytes"
	"encoding/binary"
	"io"
	"net"
	"slices"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"locklab/internal/wire"
)

// script is a net.Conn that reads from a byte slice, step bytes at a time, and discards writes.
type script struct {
	net.Conn
	in       []byte
	err      error // behind in
	step     int
	reads    int
	deadline time.Time
}

func (s *script) Read(p []byte) (int, error) {
	s.reads++
	if len(s.in) == 0 {
		return 0, s.err
	}
	n := copy(p[:min(len(p), s.step)], s.in)
	s.in = s.in[n:]
	return n, nil
}

func (s *script) Write(p []byte) (int, error)       { return len(p), nil }
func (s *script) SetReadDeadline(t time.Time) error { s.deadline = t; return nil }

func newConn(to net.Conn) (*Conn, *conn) {
	z := &Conn{counter: new(Counter), hosts: &hosts{hung: make(map[string]bool)}}
	z.now = &conn{Conn: to, owner: z}
	return z, z.now
}

// hello is the handshake of a session, 0 for a new one.
func hello(session int32) []byte { return frame(words(0, 0, 0, 4000, 0, session, 0)) }

// TestConnCounts receives every kind of packet with every split; the library gets no zxid.
func TestConnCounts(t *testing.T) {
	requests := [][]byte{
		words(0, 0, 0, 4000), // the handshake
		words(1, wire.OpCreate, 7),
		words(-2, wire.OpPing),
		words(-4, wire.OpAuth), words(2, wire.OpAuth),
		words(-8, wire.OpSetWatches), words(3, wire.OpSetWatches), words(4, wire.OpSetWatches2),
		words(5, wire.OpCreate),
		words(6, wire.OpCloseSession),
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
		s := &script{in: in, err: io.EOF, step: step}
		z, c := newConn(s)
		for _, r := range requests {
			p := frame(r)
			if n, err := c.Write(p); n != len(p) || err != nil {
				t.Fatalf("Write = %d, %v", n, err)
			}
		}
		var r io.Reader = c
		if step > 20 {
			r = iotest.OneByteReader(c) // small reads of the library cost none of the TCP connection
		}
		got, err := io.ReadAll(r)
		if want := (len(in)+step-1)/step + 1; err != nil || s.reads != want {
			t.Fatalf("in steps of %d: %d reads, want %d (%v)", step, s.reads, want, err)
		}
		hello := len(frame(replies[0]))
		if want := slices.Concat(in[:hello], withoutZxids(in[hello:])); !slices.Equal(got, want) {
			t.Errorf("in steps of %d the library gets\n     %x\nwant %x", step, got, want)
		}
		if requests, notifications := z.Traffic(); requests != 2 || notifications != 2 {
			t.Errorf("in steps of %d: %d requests and %d notifications, want 2 and 2", step, requests, notifications)
		}
		if got := z.SessionTimeout(); got != 4*time.Second {
			t.Errorf("in steps of %d: session timeout %v, want 4s", step, got)
		}
	}
}

// reply returns the head of a reply: the error code, and the type of a multi's first result.
func reply(xid, err, first int32) []byte { return words(xid, 0, 9, err, first, 0) }

// TestProof: only a successful write proves something, about packets answered a lag before.
func TestProof(t *testing.T) {
	const timeout, lag = 40 * time.Second, 12 * time.Second
	begin, resume := words(0, 0, 0, 4000, 0, 0), words(0, 0, 0, 4000, 0, 7)
	type step struct {
		after time.Duration // the step before
		sent  []byte
		got   []byte
		since time.Duration // from the first step; -1: nothing is proven
		next  time.Duration // -1: there is none
	}
	ping, create, multi := words(-2, wire.OpPing), words(1, wire.OpCreate), words(1, wire.OpMulti)
	yes, pong := reply(1, 0, wire.OpCreate), reply(-2, 0, 0)
	for _, c := range []struct {
		name  string
		tick  time.Duration
		first []byte
		steps []step
	}{
		{"a session that begins is a write", 0, begin, []step{{0, nil, nil, 0, -1}}},
		{"one that is taken up is none", 0, resume, []step{{0, nil, nil, -1, 0}}},
		{"but a touch that the leader knows", 0, resume, []step{{5, create, yes, 0, 5 + 12}}},
		{"pings, reads and sync prove nothing", 0, begin, []step{
			{13, ping, pong, 0, 13 + 12}, {13, words(1, 9), reply(1, 0, 0), 0, 25}, {13, words(1, 4), reply(1, 0, 0), 0, 38}}},
		{"a write proves the touch before", 0, begin, []step{{5, create, yes, 0, 17}, {12, create, yes, 5, 29}, {13, create, yes, 17, 42}}},
		{"if that is old enough", 0, begin, []step{{5, create, yes, 0, 17}, {11, create, yes, 0, 17}, {1, create, yes, 5, 28}}},
		{"which may be a ping", 0, begin, []step{{5, ping, pong, 0, 17}, {12, create, yes, 5, 29}}},
		{"and not one that is unanswered", 0, begin, []step{{5, ping, nil, 0, -1}, {12, create, yes, 0, 29}}},
		{"the lag counts from the answer", 0, begin, []step{{5, ping, nil, 0, -1}, {3, nil, pong, 0, 20}, {11, create, yes, 0, 20}, {1, create, yes, 5, 31}}},
		{"nor credentials", 0, begin, []step{{5, words(-4, wire.OpAuth), reply(-4, 0, 0), 0, -1}, {12, create, yes, 0, 29}}},
		{"a refused write proves nothing", 0, begin, []step{{5, ping, pong, 0, 17}, {12, create, reply(1, -112, 0), 0, 17}}},
		{"a multi that fails neither", 0, begin, []step{{5, ping, pong, 0, 17}, {12, multi, reply(1, 0, -1), 0, 17}}},
		{"a multi that is done does", 0, begin, []step{{5, ping, pong, 0, 17}, {12, multi, reply(1, 0, 13), 5, 29}}},
		{"a head that is cut short", 0, begin, []step{{5, ping, pong, 0, 17}, {12, multi, reply(1, 0, 13)[:16], 0, 17}, {0, create, words(1, 0), 0, 17}}},
		{"long ticks", 40 * time.Second, begin, []step{{5, create, yes, 0, 5 + 22}, {21, create, yes, 0, 27}, {1, create, yes, 5, 48}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				z, k := newConn(nil)
				z.tick = c.tick
				began := time.Now()
				k.wrote(c.first, began, frame(c.first))
				k.read(words(0, int32(timeout/time.Millisecond)))
				if want := max(lag, c.tick/2+timeout/20); z.Lag() != want {
					t.Fatalf("lag %v, want %v", z.Lag(), want)
				}
				for i, s := range c.steps {
					time.Sleep(s.after * time.Second)
					if s.sent != nil {
						k.wrote(s.sent, time.Now(), nil)
					}
					if s.got != nil {
						k.read(s.got)
					}
					p := z.Proof()
					if got := p.Since.Sub(began); s.since < 0 && !p.Since.IsZero() || s.since >= 0 && got != s.since*time.Second {
						t.Errorf("after step %d: proven since %v, want %ds", i, got, s.since)
					}
					if got := p.Next.Sub(began); s.next < 0 && !p.Next.IsZero() || s.next >= 0 && got != s.next*time.Second {
						t.Errorf("after step %d: next proof %v, want %ds", i, got, s.next)
					}
				}
			})
		})
	}
}

// TestProofUnanswered: a handshake counts from its sending, a proof stays, a read proves nothing,
// and pings overtake a write without a majority.
func TestProofUnanswered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		z, k := newConn(nil)
		greeted := time.Now()
		z.zxid.Store(9) // of the session before, perhaps with newer data
		k.wrote(words(0, 0, 0, 4000, 0, 0), greeted, nil)
		time.Sleep(time.Second)
		k.read(words(0, 4000))
		k.read(reply(wire.XidEvent, 0, 0))
		k.read(reply(99, 0, 0)) // a stranger
		began := time.Now()
		k.wrote(words(6, wire.OpGetData), began, nil)
		if p := z.Proof(); !p.Unanswered.IsZero() || !p.Committed.Equal(began) || z.Zxid() != 0 {
			t.Errorf("at first: %+v, zxid %d", p, z.Zxid())
		}
		k.wrote(words(7, wire.OpSetData), began, nil)
		for range 1000 { // the client remembers only a few
			time.Sleep(100 * time.Millisecond)
			k.wrote(words(-2, wire.OpPing), time.Now(), nil)
			k.read(reply(-2, 0, 0))
		}
		if p := z.Proof(); !p.Unanswered.Equal(began) {
			t.Errorf("a write is unanswered since %v", p.Unanswered.Sub(began))
		}
		if n := len(k.touches); n > 20 {
			t.Errorf("%d touches are kept", n)
		}
		k.read(reply(7, 0, 0))
		z.proven(greeted.Add(-time.Second))
		if p := z.Proof(); !p.Unanswered.IsZero() || !p.Since.Equal(greeted) || !p.Committed.Equal(time.Now()) || len(k.pending) != 1 {
			t.Errorf("when it is answered: %+v, pending %v", p, k.pending)
		}
	})
}

// TestHandshakeDeadline: nothing extends the deadline of a handshake.
func TestHandshakeDeadline(t *testing.T) {
	s, dead := new(script), time.Now().Add(time.Second)
	_, c := newConn(s)
	c.dead = dead
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
		stream = body[min(uint64(size), uint64(len(body))):]
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
