package zksession

import (
	"context"
	"errors"
	"io"
	"locklab/internal/wire"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// TestStale: the servers have refused a session, and not a new one, for its timeout.
func TestStale(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		z, _ := newConn(nil)
		z.zxid.Store(9)
		z.timeout.Store(int64(4 * time.Second))
		refuse := func(session int32) {
			c := &conn{Conn: &ends{err: io.EOF}, owner: z}
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
// to a ping does not count as seen.
func TestCreations(t *testing.T) {
	z, c := newConn(nil)
	head := func(code int32) []byte { return words(1, 0, 9, code) }
	z.creations.expect("/a")
	if c.created("/b", head(0)); len(z.creations.zxid) != 1 {
		t.Error("a create that nobody waits for is kept")
	}
	c.created("/a", head(-110))
	c.created("/a", head(0)[:12])
	if got := z.creations.take("/a"); got != 0 {
		t.Errorf("zxid %d of a create that failed", got)
	}
	z.creations.expect("/a")
	c.created("/a", head(0))
	if got := z.creations.take("/a"); got != 9 || len(z.creations.zxid) != 0 {
		t.Errorf("zxid %d, want 9; %d are kept", got, len(z.creations.zxid))
	}
	c.pending = []sent{{xid: -2, op: wire.OpPing}}
	if c.answered(-2, words(-2, 0, 12, 0)); z.Zxid() != 9 {
		t.Errorf("seen up to %d, want 9", z.Zxid())
	}
}

func TestConnectRefuses(t *testing.T) {
	for _, o := range []Options{
		{},
		{Servers: []string{"127.0.0.1:0"}},
		{Servers: []string{"127.0.0.1:1"}, SessionTimeout: -1},
		{Servers: []string{"127.0.0.1:1"}, SessionTimeout: MaxSessionTimeout + 1},
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
