package zksession

import (
	"encoding/binary"
	"errors"
	"io"
	"net"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"locklab/internal/wire"
)

type sink struct {
	net.Conn
	mu     sync.Mutex
	got    []byte
	closed bool
}

func (s *sink) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return 0, io.ErrClosedPipe
	}
	s.got = append(s.got, p...)
	return len(p), nil
}

func (s *sink) all() []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.got)
}

func (s *sink) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	return nil
}

func (s *sink) ops() (out []int32) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, head := range heads(s.got) {
		if op, _ := word(head, 1); i > 0 {
			out = append(out, op)
		}
	}
	return out
}

// TestResumption: before SetWatches only pings, credentials, multis and the end of the session
// are sent; without SetWatches the rest follows after a while, and later SetWatches come too late.
func TestResumption(t *testing.T) {
	const late, manyOf, answer, end = 0, -wire.OpSetWatches, -1, -2 // stand for a while, a packet of many watches, its reply, and Close
	for _, test := range []struct {
		name    string
		session int32
		send    []int32
		want    []int32
		broken  bool
	}{
		{"a new session", 0, []int32{wire.OpCreate, wire.OpSetWatches}, []int32{wire.OpCreate, wire.OpSetWatches}, false},
		{"requests wait", 7, []int32{wire.OpCreate, wire.OpAuth, wire.OpPing, wire.OpCreate, wire.OpSetWatches, wire.OpCreate},
			[]int32{wire.OpAuth, wire.OpPing, wire.OpSetWatches, wire.OpCreate, wire.OpCreate, wire.OpCreate}, false},
		{"two packets of watches", 7, []int32{wire.OpCreate, manyOf, wire.OpCreate, wire.OpSetWatches, wire.OpCreate},
			[]int32{wire.OpSetWatches, wire.OpSetWatches, wire.OpCreate, wire.OpCreate, wire.OpCreate}, false},
		{"one packet that could be the first of two", 7, []int32{wire.OpCreate, manyOf, answer, late, wire.OpCreate},
			[]int32{wire.OpSetWatches, wire.OpCreate, wire.OpCreate}, false},
		{"the first of two is not answered", 7, []int32{wire.OpCreate, manyOf, late, wire.OpCreate}, []int32{wire.OpSetWatches}, false},
		{"the second of two too late", 7, []int32{wire.OpCreate, manyOf, answer, late, wire.OpSetWatches},
			[]int32{wire.OpSetWatches, wire.OpCreate}, true},
		{"a contact", 7, []int32{wire.OpCreate, wire.OpMulti, manyOf, wire.OpMulti, answer, wire.OpMulti, wire.OpSetWatches},
			[]int32{wire.OpMulti, wire.OpSetWatches, wire.OpMulti, wire.OpMulti, wire.OpSetWatches, wire.OpCreate}, false},
		{"SetWatches alone", 7, []int32{wire.OpSetWatches2, late, wire.OpCreate}, []int32{wire.OpSetWatches2, wire.OpCreate}, false},
		{"none yet", 7, []int32{wire.OpCreate}, nil, false},
		{"none", 7, []int32{wire.OpCreate, late, wire.OpCreate}, []int32{wire.OpCreate, wire.OpCreate}, false},
		{"nothing overtakes them", 7, []int32{late, wire.OpCreate, wire.OpSetWatches}, []int32{wire.OpSetWatches, wire.OpCreate}, false},
		{"closed", 7, []int32{wire.OpCreate, end, late}, nil, true},
		{"too late", 7, []int32{wire.OpCreate, late, wire.OpSetWatches}, []int32{wire.OpCreate}, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				to := new(sink)
				_, c := newConn(to)
				defer c.Close()
				if _, err := c.Write(hello(test.session)); err != nil {
					t.Fatal(err)
				}
				c.read(words(0, 4000, 0, 7))
				var err error
				for i, op := range test.send {
					body := words(int32(i), op, 1, 2)
					switch op {
					case late:
						time.Sleep(20 * resumeWait)
						continue
					case answer:
						c.read(reply(int32(i-1), 0, 0))
						continue
					case end:
						c.Close()
						continue
					case manyOf:
						body = append(words(int32(i), wire.OpSetWatches, 1, 2), make([]byte, 128<<10)...)
					}
					_, failed := c.Write(frame(body))
					err = errors.Join(err, failed)
				}
				if got := to.ops(); !slices.Equal(got, test.want) {
					t.Errorf("the server gets %v, want %v", got, test.want)
				}
				if err != nil || to.closed != test.broken {
					t.Errorf("Write = %v, closed: %t; want that the connection breaks: %t", err, to.closed, test.broken)
				}
			})
		})
	}
}

// TestResumptionUnanswered: a write that waits for SetWatches has no late answer.
func TestResumptionUnanswered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		z, c := newConn(new(sink))
		defer c.Close()
		write := func(xid, op int32, more int) { c.Write(frame(append(words(xid, op, 1, 2), make([]byte, more)...))) }
		c.Write(hello(7))
		c.read(words(0, 4000, 0, 7))
		write(1, wire.OpCreate, 0)
		write(2, wire.OpSetWatches, 128<<10)
		time.Sleep(time.Minute)
		if at := z.Proof().Unanswered; !at.IsZero() {
			t.Errorf("a write that was not sent is unanswered for %v", time.Since(at))
		}
		write(3, wire.OpSetWatches, 0)
		if at := z.Proof().Unanswered; !at.Equal(time.Now()) {
			t.Errorf("a write that was just sent is unanswered since %v", at)
		}
	})
}

// TestWriteFails: the library notices a failed Write only by the end of the connection.
func TestWriteFails(t *testing.T) {
	to := &sink{closed: true}
	_, c := newConn(to)
	if _, err := c.Write(hello(7)); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("Write of the handshake = %v, want %v", err, io.ErrClosedPipe)
	}
	to.closed = false
	packet := frame(words(1, wire.OpAuth, 1))
	if _, err := c.Write(packet); err != nil || to.closed {
		t.Fatalf("Write = %v, closed: %t", err, to.closed)
	}
	c.resume.stop()
	c.Conn = &broken{to}
	if n, err := c.Write(packet); err != nil || n != len(packet) || !to.closed {
		t.Errorf("Write = %d, %v, closed: %t, want the end of the connection alone", n, err, to.closed)
	}
}

type broken struct{ *sink }

func (*broken) Write([]byte) (int, error) { return 0, io.ErrShortWrite }

// TestDebt: the zxids that SetWatches ask for, on successive connections of a session.
func TestDebt(t *testing.T) {
	const many = 128 << 10
	type packet struct {
		size   int
		answer bool
		want   uint64 // 0: it is not sent
	}
	type connection struct {
		seen     uint64
		requests bool          // are sent before the packets, without waiting for them
		packets  []packet      //
		lasts    time.Duration // at the end
	}
	for _, test := range []struct {
		name string
		all  []connection
	}{
		{"one after another", []connection{
			{seen: 5, packets: []packet{{0, true, 5}}},
			{seen: 7, packets: []packet{{0, true, 7}}},
		}},
		{"not answered for long", []connection{
			{seen: 5, packets: []packet{{0, false, 5}}, lasts: 2 * debtLasts},
			{seen: 9, packets: []packet{{0, true, 5}}},
		}},
		{"overtaken", []connection{
			{seen: 5, requests: true, packets: []packet{{0, false, 0}}},
			{seen: 9, packets: []packet{{0, true, 5}}},
			{seen: 11, packets: []packet{{0, true, 11}}},
		}},
		{"not answered", []connection{
			{seen: 5, packets: []packet{{0, false, 5}}},
			{seen: 9, packets: []packet{{0, true, 5}}},
		}},
		{"the second of two not answered", []connection{
			{seen: 5, packets: []packet{{many, true, 5}, {0, false, 5}}},
			{seen: 9, packets: []packet{{many, true, 5}, {0, true, 5}}},
			{seen: 11, packets: []packet{{0, true, 11}}},
		}},
		{"the second of two not sent", []connection{
			{seen: 5, packets: []packet{{many, true, 5}}},
			{seen: 9, packets: []packet{{0, true, 5}}},
		}},
		{"none to send", []connection{
			{seen: 5, requests: true, lasts: 2 * debtLasts},
			{seen: 9, packets: []packet{{0, true, 9}}},
		}},
		{"broken before they are sent", []connection{
			{seen: 5, requests: true},
			{seen: 9, packets: []packet{{0, true, 5}}},
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				z, _ := newConn(nil)
				for n, conn1 := range test.all {
					z.zxid.Store(int64(conn1.seen))
					to := new(sink)
					c := &conn{Conn: to, owner: z}
					c.Write(hello(7))
					c.read(words(0, 4000, 0, 7))
					if conn1.requests {
						c.Write(frame(words(1, wire.OpCreate, 0, 0)))
						time.Sleep(2 * resumeWait)
					}
					var want []uint64
					for i, p := range conn1.packets {
						xid := int32(10 + i)
						c.Write(frame(append(words(xid, wire.OpSetWatches, 0, 0), make([]byte, p.size)...)))
						if p.answer {
							c.read(reply(xid, 0, 0))
						}
						if p.want != 0 {
							want = append(want, p.want)
						}
					}
					if got := asked(to.all()); !slices.Equal(got, want) {
						t.Errorf("connection %d asks for what is after %d, want %d", n, got, want)
					}
					time.Sleep(conn1.lasts)
					c.Close()
				}
			})
		})
	}
}

func asked(stream []byte) (zxids []uint64) {
	for first := true; len(stream) >= wire.LengthBytes; first = false {
		body := stream[wire.LengthBytes:][:binary.BigEndian.Uint32(stream)]
		stream = stream[wire.LengthBytes+len(body):]
		if op, ok := word(body, 1); ok && op == wire.OpSetWatches && !first {
			zxids = append(zxids, binary.BigEndian.Uint64(body[8:]))
		}
	}
	return zxids
}
