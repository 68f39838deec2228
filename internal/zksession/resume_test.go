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
	for i, head := range heads(s.all()) {
		if op, _ := word(head, 1); i > 0 {
			out = append(out, op)
		}
	}
	return out
}

var opOf = map[rune]int32{'c': wire.OpCreate, 'w': wire.OpSetWatches, 'W': wire.OpSetWatches, 'v': wire.OpSetWatches2,
	'p': wire.OpPing, 'a': wire.OpAuth, 'm': wire.OpMulti}

// TestResumption: before SetWatches only pings, credentials, multis and the end of the session
// are sent; without SetWatches the rest follows after a while, and later SetWatches come too late.
func TestResumption(t *testing.T) {
	for _, test := range []struct {
		name    string
		session int32
		send    string // see opOf; W: a packet of many watches, !: the reply to the last, -: a while, x: Close
		want    string
		broken  bool
	}{
		{"a new session", 0, "cw", "cw", false},
		{"requests wait", 7, "capcwc", "apwccc", false},
		{"two packets of watches", 7, "cWcwc", "wwccc", false},
		{"one packet that could be the first of two", 7, "cW!-c", "wcc", false},
		{"the first of two is not answered", 7, "cW-c", "w", false},
		{"the second of two too late", 7, "cW!-w", "wc", true},
		{"a contact", 7, "cmWm!mw", "mwmmwc", false},
		{"SetWatches alone", 7, "v-c", "vc", false},
		{"none yet", 7, "c", "", false},
		{"none", 7, "c-c", "cc", false},
		{"nothing overtakes them", 7, "-cw", "wc", false},
		{"closed", 7, "cx-", "", true},
		{"too late", 7, "c-w", "c", true},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				to := new(sink)
				_, c := newConn(to)
				defer c.Close()
				_, err := c.Write(hello(test.session))
				c.read(words(0, 4000, 0, 7))
				for i, letter := range test.send {
					switch letter {
					case '-':
						time.Sleep(20 * resumeWait)
					case '!':
						c.read(reply(int32(i-1), 0, 0))
					case 'x':
						c.Close()
					default:
						body := words(int32(i), opOf[letter], 1, 2)
						if letter == 'W' {
							body = append(body, make([]byte, 128<<10)...)
						}
						_, failed := c.Write(frame(body))
						err = errors.Join(err, failed)
					}
				}
				var want []int32
				for _, letter := range test.want {
					want = append(want, opOf[letter])
				}
				if got := to.ops(); !slices.Equal(got, want) {
					t.Errorf("the server gets %v, want %v", got, want)
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
	type connection struct {
		seen uint64
		do   string // w: SetWatches, W: the first of two, !: the reply to the last, c: a create and a wait, -: a long time
		want []uint64
	}
	for name, all := range map[string][]connection{
		"one after another":              {{5, "w!", []uint64{5}}, {7, "w!", []uint64{7}}},
		"not answered for long":          {{5, "w-", []uint64{5}}, {9, "w!", []uint64{5}}},
		"overtaken":                      {{5, "cw", nil}, {9, "w!", []uint64{5}}, {11, "w!", []uint64{11}}},
		"not answered":                   {{5, "w", []uint64{5}}, {9, "w!", []uint64{5}}},
		"the second of two not answered": {{5, "W!w", []uint64{5, 5}}, {9, "W!w!", []uint64{5, 5}}, {11, "w!", []uint64{11}}},
		"the second of two not sent":     {{5, "W!", []uint64{5}}, {9, "w!", []uint64{5}}},
		"none to send":                   {{5, "c-", nil}, {9, "w!", []uint64{9}}},
		"broken before they are sent":    {{5, "c", nil}, {9, "w!", []uint64{5}}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				z, _ := newConn(nil)
				for n, one := range all {
					z.zxid.Store(int64(one.seen))
					to := new(sink)
					c := &conn{Conn: to, owner: z}
					c.Write(hello(7))
					c.read(words(0, 4000, 0, 7))
					for i, letter := range one.do {
						switch xid := int32(10 + i); letter {
						case 'c':
							c.Write(frame(words(xid, wire.OpCreate, 0, 0)))
							time.Sleep(2 * resumeWait)
						case 'w', 'W':
							size := map[rune]int{'W': 128 << 10}[letter]
							c.Write(frame(append(words(xid, wire.OpSetWatches, 0, 0), make([]byte, size)...)))
						case '!':
							c.read(reply(xid-1, 0, 0))
						case '-':
							time.Sleep(2 * debtLasts)
						}
					}
					if got := askedZxids(to.all()); !slices.Equal(got, one.want) {
						t.Errorf("connection %d asks for what is after %d, want %d", n, got, one.want)
					}
					c.Close()
				}
			})
		})
	}
}

func askedZxids(stream []byte) (zxids []uint64) {
	for i, head := range heads(stream) {
		if op, _ := word(head, 1); i > 0 && op == wire.OpSetWatches {
			zxids = append(zxids, binary.BigEndian.Uint64(head[8:]))
		}
	}
	return zxids
}
