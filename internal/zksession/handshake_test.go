package zksession

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"locklab/internal/wire"
)

// TestHandshakeFails: only a failure before the handshake counts as a hung server. A broken
// connection keeps the next wait for a hung server short for a while.
func TestHandshakeFails(t *testing.T) {
	z, _ := newConn(nil)
	z.timeout.Store(int64(4 * time.Second))
	step := 0
	expect := func(err error, answered bool, want int) {
		t.Helper()
		step++
		server := fmt.Sprint("server ", step)
		c := &conn{Conn: &script{err: err}, owner: z, address: server}
		if answered {
			c.read(words(0, 4000))
		}
		c.Read(make([]byte, 1))
		if z.shakes.hung != want {
			t.Errorf("step %d: %d have hung, want %d", step, z.shakes.hung, want)
		}
		if hung := err == os.ErrDeadlineExceeded; z.hosts.hung[server] != hung {
			t.Errorf("step %d: the server is left out: %t, want %t", step, !hung, hung)
		}
	}
	expect(os.ErrDeadlineExceeded, false, 1)
	expect(net.ErrClosed, false, 1)
	expect(os.ErrDeadlineExceeded, false, 2)
	expect(io.EOF, true, 0)
	for range shortRounds {
		expect(os.ErrDeadlineExceeded, false, 1)
		expect(io.EOF, false, 0)
	}
	expect(os.ErrDeadlineExceeded, false, 1)
	expect(io.EOF, false, 1) // too often
	expect(os.ErrDeadlineExceeded, false, 2)
}

// TestStale: the servers have refused a session, and not a new one, for its timeout.
func TestStale(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		z, _ := newConn(nil)
		z.zxid.Store(9)
		z.timeout.Store(int64(4 * time.Second))
		refuse := func(session int32) {
			c := &conn{Conn: &script{err: io.EOF}, owner: z}
			c.Write(hello(session))
			c.Read(make([]byte, 1))
		}
		expect := func(what string, want bool) {
			t.Helper()
			if _, is := z.stale(); is != want {
				t.Errorf("%s: stale %t, want %t", what, is, want)
			}
		}
		refuse(0)
		time.Sleep(5 * time.Second)
		refuse(0)
		expect("a new session is refused", false)
		refuse(7)
		expect("the session is refused", false)
		time.Sleep(3 * time.Second)
		refuse(7)
		expect("and again", false)
		time.Sleep(2 * time.Second)
		expect("for longer than it lasts", true)
		if hello, _ := z.stale(); !slices.Equal(hello, frame(words(0, 0, 9, 4000, 0, 7, 0))) {
			t.Errorf("the handshake is %v", hello)
		}
		c := &conn{owner: z}
		c.read(words(0, 0, 0, 0))
		expect("it has expired", false)
		refuse(7)
		time.Sleep(5 * time.Second)
		(&conn{owner: z}).read(words(0, 4000, 0, 7))
		expect("a server has taken it up", false)
	})
}

// TestGiveUpLate: a timer that fires after the watches were sent does nothing.
func TestGiveUpLate(t *testing.T) {
	to := new(sink)
	_, c := newConn(to)
	c.Write(hello(7))
	c.Write(frame(words(1, wire.OpSetWatches, 1, 2)))
	if c.resume.giveUp(c); c.resume.overtaken {
		t.Error("the watches were sent in time, and the requests have overtaken them")
	}
	_, c = newConn(to)
	c.Write(hello(7))
	c.Write(frame(words(1, wire.OpCreate, 1, 2)))
	c.Conn = &broken{to}
	if c.resume.giveUp(c); !to.closed {
		t.Error("a failure to send the requests that waited is lost")
	}
}

// TestLongestPath: the last packet of SetWatches has room for the longest requested path.
func TestLongestPath(t *testing.T) {
	ask := func(op int32, path string) []byte {
		return frame(append(words(1, op, int32(len(path))), path...))
	}
	for _, op := range []int32{wire.OpExists, wire.OpGetData, wire.OpGetChildren2} {
		var l longestPath
		l.note(ask(op, "/twelve-bytes"))
		l.note(ask(op, "/x"))
		l.note(ask(wire.OpCreate, "/no-watch-is-on-such-a-path"))
		const limit, path = 128 << 10, len("/twelve-bytes")
		if !l.leavesRoom(make([]byte, wire.LengthBytes+limit-4-path)) || l.leavesRoom(make([]byte, wire.LengthBytes+limit-4-path+1)) {
			t.Errorf("operation %d: the longest path has %d bytes, want %d", op, l.bytes.Load(), path)
		}
	}
}

// TestDebtSteps: steps that TestDebt cannot produce with a connection.
func TestDebtSteps(t *testing.T) {
	now := time.Now()
	for _, test := range []struct {
		name  string
		began time.Time
		hello []byte
		at    time.Time
		seen  uint64
		want  uint64
	}{
		{"a connection that was not taken up pays nothing", time.Time{}, hello(7), now.Add(time.Hour), 9, 5},
		{"nor does a young one", now, hello(7), now, 9, 5},
		{"seen up to 3", time.Time{}, hello(7), now, 3, 3},
		{"a new session owes nothing", time.Time{}, hello(0), now, 3, 0},
		{"a handshake that is cut short", now, frame(words(0)), now, 3, 0},
	} {
		d := debt{since: 5, began: test.began}
		if d.greet(test.hello, test.seen, test.at); d.since != test.want || !d.began.IsZero() {
			t.Errorf("%s: asks for what is after %d, want %d; began %v", test.name, d.since, test.want, d.began)
		}
		d.ask(frame(words(1, wire.OpSetWatches))) // cut short
	}
}

// TestCreations: only a successful reply to a running create counts, once. The zxid in a reply
// to a ping does not count as seen, nor does one that is older.
func TestCreations(t *testing.T) {
	z, c := newConn(nil)
	head := func(code int32) []byte { return words(1, 0, 9, code) }
	z.creations.Store("/a", uint64(0))
	c.created("/b", head(0))
	if _, kept := z.creations.Load("/b"); kept {
		t.Error("a create that nobody waits for is kept")
	}
	c.created("/a", head(-110))
	c.created("/a", head(0)[:12])
	if got, _ := z.creations.Load("/a"); got != uint64(0) {
		t.Errorf("zxid %d of a create that failed", got)
	}
	c.created("/a", head(0))
	if got, _ := z.creations.Load("/a"); got != uint64(9) {
		t.Errorf("zxid %d, want 9", got)
	}
	c.pending = []sent{{xid: -2, op: wire.OpPing}}
	c.created("", words(1, 0, 8, 0))
	if c.answered(-2, words(-2, 0, 12, 0)); z.Zxid() != 9 {
		t.Errorf("seen up to %d, want 9", z.Zxid())
	}
}

func TestConnectRefuses(t *testing.T) {
	for _, o := range []Options{
		{}, {Servers: []string{"127.0.0.1:0"}}, {Servers: []string{"127.0.0.1:1"}, SessionTimeout: -1}, {Servers: []string{"127.0.0.1:1"}, SessionTimeout: MaxSessionTimeout + 1},
	} {
		if z, err := Connect(t.Context(), o); err == nil || errors.Is(err, ErrNoSession) {
			t.Errorf("%+v: %v", o, err)
			if err == nil {
				z.Close()
			}
		}
	}
}

func TestConnectEndsLookups(t *testing.T) {
	var ended atomic.Bool
	ctx, cancel := context.WithCancel(t.Context())
	_, err := Connect(ctx, Options{Servers: []string{"zk:1"}, SessionTimeout: time.Second, lookup: func(ctx context.Context, _ string) ([]string, error) {
		cancel()
		<-ctx.Done()
		time.Sleep(10 * time.Millisecond)
		ended.Store(true)
		return nil, ctx.Err()
	}})
	if !errors.Is(err, ErrNoSession) || !ended.Load() {
		t.Errorf("Connect = %v, the lookup has ended: %t", err, ended.Load())
	}
}
