package zklock_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"locklab/harness"
	"locklab/harness/locktest"
	"locklab/zklock"
)

// TestRW runs every test of readers and writers against one server.
func TestRW(t *testing.T) {
	t.Parallel()
	at := locktest.Endpoint(t, harness.KindZooKeeper)
	defer sweep(t, at)
	atOnce(t, at, []serverTest{
		{"requests alone", rwAlone},
		{"requests of a reader behind writers", rwBehindWriters},
		{"requests in a crowd", rwCrowd},
		{"exclusion and tokens", rwExcludes},
		{"readers share", rwShares},
		{"the nearest writer cancels", func(t *testing.T, at harness.Endpoint) { nearestWriterLeaves(t, at, false) }},
		{"the nearest writer dies", func(t *testing.T, at harness.Endpoint) { nearestWriterLeaves(t, at, true) }},
		{"a reader in the middle leaves", middleReaderLeaves},
		{"a reader's session expires", readerExpires},
		{"a reader's reply is lost", readerReplyLost},
		{"try", rwTry},
		{"owner", rwOwner},
		{"downgrade", rwDowngrade},
		{"downgrade after the write is lost", rwDowngradeLost},
	})
}

func newRW(t *testing.T, at harness.Endpoint, path string) (*zklock.Client, *zklock.RW) {
	c := dial(t, at, zklock.ClientOptions{})
	return c, c.RW(path, zklock.Options{})
}

func rwAlone(t *testing.T, at harness.Endpoint) {
	c, m := newRW(t, at, newPath())
	unlock(t, grab(t, m.Lock)) // makes the parents
	before := c.Counts()
	for range 10 {
		unlock(t, grab(t, m.Lock))
		unlock(t, grab(t, m.RLock))
	}
	if have := c.Counts().Sub(before); have != (harness.Counts{Requests: 60}) {
		t.Errorf("20 acquisitions cost %+v, want 3 requests each", have)
	}
}

// rwBehindWriters: a reader behind three writers is woken once; by Curator's
// rule three times.
func rwBehindWriters(t *testing.T, at harness.Endpoint) {
	for _, test := range []struct {
		name string
		open func(c *zklock.Client, path string) *zklock.RW
		want harness.Counts
	}{
		{"nearest", func(c *zklock.Client, path string) *zklock.RW { return c.RW(path, zklock.Options{}) },
			harness.Counts{Requests: 5, Notifications: 1}},
		{"first", zklock.FirstWriteRW, harness.Counts{Requests: 9, Notifications: 3}},
	} {
		see, path := raw(t, at), newPath()
		var writers []<-chan result
		for i := range 3 {
			_, m := newRW(t, at, path)
			writers = append(writers, behind(t.Context(), m.Lock))
			queued(t, see, path, i+1)
		}
		c := dial(t, at, zklock.ClientOptions{})
		before := c.Counts()
		reader := behind(t.Context(), test.open(c, path).RLock)
		for _, w := range writers {
			l := take(t, w)
			empty(t, reader)
			unlock(t, l)
		}
		unlock(t, take(t, reader))
		if have := c.Counts().Sub(before); have != test.want {
			t.Errorf("the rule %q costs a reader behind three writers %+v, want %+v", test.name, have, test.want)
		}
	}
}

// rwCrowd: 50 clients, of which every tenth writes. The least that is possible
// for a ticket that waits is 5 requests: create, list, watch, list, delete. A
// writer needs more if the reader it watches leaves before another.
func rwCrowd(t *testing.T, at harness.Endpoint) {
	const readers, writers = 45, 5
	nearest, events := rwCost(t, at, newVariant(t, "zk-rw"), readers, writers)
	first, firstEvents := rwCost(t, at, newVariant(t, "zk-rw-curator"), readers, writers)
	t.Logf("%d readers and %d writers: %.2f requests and %.2f events, by Curator's rule %.2f and %.2f",
		readers, writers, nearest, events, first, firstEvents)
	if nearest > 5.2 || events > 1.2 {
		t.Errorf("%.2f requests and %.2f events for an acquisition, want 5.0 and 1.0", nearest, events)
	}
	if first < nearest+2 {
		t.Errorf("Curator's rule costs %.2f requests, hardly more than %.2f: the test shows nothing", first, nearest)
	}
}

func newVariant(t *testing.T, name string) *harness.Variant {
	t.Helper()
	for _, v := range zklock.Suite {
		if v.Name == name {
			return v
		}
	}
	t.Fatalf("no variant %q", name)
	return nil
}

// rwCost returns the requests and watch events of an acquisition among clients
// that always read and clients that always write, and queue again at once.
func rwCost(t *testing.T, at harness.Endpoint, v *harness.Variant, readers, writers int) (requests, notifications float64) {
	t.Helper()
	key := newPath()[len("/locklab/"):]
	var wg sync.WaitGroup
	var mu sync.Mutex
	var total harness.Counts
	var turns int
	var stop atomic.Bool
	for i := range readers + writers {
		r, err := v.Remote(t.Context(), at, key)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		s, err := r.Join(t.Context(), i)
		if err != nil {
			t.Fatal(err)
		}
		lock := s.(harness.RWSession).RLock
		if i%(1+readers/writers) == 0 {
			lock = s.Lock
		}
		wg.Go(func() {
			mine := 0
			for ; !stop.Load(); mine++ {
				l, err := lock(t.Context())
				if err == nil {
					err = l.Unlock(t.Context())
				}
				if err != nil {
					t.Error(err)
					return
				}
			}
			mu.Lock()
			defer mu.Unlock()
			total = total.Add(r.(harness.Counter).Counts())
			turns += mine
		})
	}
	time.Sleep(time.Second)
	stop.Store(true)
	wg.Wait()
	return float64(total.Requests) / float64(turns), float64(total.Notifications) / float64(turns)
}

// rwExcludes also shows that the check finds readers that do not exclude.
func rwExcludes(t *testing.T, at harness.Endpoint) {
	open := func(c *zklock.Client, path string) *zklock.RW { return c.RW(path, zklock.Options{}) }
	for name, open := range map[string]func(*zklock.Client, string) *zklock.RW{"nearest": open, "first": zklock.FirstWriteRW} {
		if err := rwRush(t, at, open); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := rwRush(t, at, zklock.BlindRW); err == nil {
		t.Error("the check is blind: readers who do not see writers pass")
	} else {
		t.Log("rejected, as it must be:", err)
	}
}

// rwRush returns what went wrong among a reader and a writer in each of some
// clients.
func rwRush(t *testing.T, at harness.Endpoint, open func(*zklock.Client, string) *zklock.RW) error {
	const clients, turns = 4, 40
	path := newPath()
	var room rwRoom
	var wg sync.WaitGroup
	for range clients {
		m := open(dial(t, at, zklock.ClientOptions{}), path)
		for _, worker := range []struct {
			lock   taker
			writes bool
		}{{m.Lock, true}, {m.RLock, false}, {m.RLock, false}} {
			wg.Go(func() {
				for range turns {
					l, err := worker.lock(t.Context())
					if err != nil {
						t.Error(err)
						return
					}
					room.visit(worker.writes, l.Token())
					if err := l.Unlock(t.Context()); err != nil {
						t.Error(err)
						return
					}
				}
			})
		}
	}
	wg.Wait()
	return errors.Join(room.errs...)
}

// A rwRoom is where readers and writers come with their tokens.
type rwRoom struct {
	mu               sync.Mutex
	readers, writers int
	greatest, wrote  uint64 // tokens, of all and of writers
	errs             []error
}

func (r *rwRoom) visit(writes bool, token uint64) {
	r.mu.Lock()
	if writes {
		if r.writers++; r.writers > 1 || r.readers > 0 {
			r.wrong("a writer is in with %d others and %d readers", r.writers-1, r.readers)
		}
		if token <= r.greatest {
			r.wrong("a writer has token %d after %d", token, r.greatest)
		}
		r.wrote = max(r.wrote, token)
	} else {
		if r.readers++; r.writers > 0 {
			r.wrong("a reader is in with %d writers", r.writers)
		}
		if token < r.wrote {
			r.wrong("a reader has token %d after a writer's %d", token, r.wrote)
		}
	}
	r.greatest = max(r.greatest, token)
	r.mu.Unlock()
	time.Sleep(time.Millisecond)
	r.mu.Lock()
	defer r.mu.Unlock()
	if writes {
		r.writers--
	} else {
		r.readers--
	}
}

// wrong notes what is wrong, once in a while. The caller holds r.mu.
func (r *rwRoom) wrong(format string, args ...any) {
	if len(r.errs) < 3 {
		r.errs = append(r.errs, fmt.Errorf(format, args...))
	}
}

func rwShares(t *testing.T, at harness.Endpoint) {
	path := newPath()
	_, a := newRW(t, at, path)
	_, b := newRW(t, at, path)
	first, second := grab(t, a.RLock), grab(t, b.RLock)
	writer := behind(t.Context(), b.Lock)
	late := behind(t.Context(), a.RLock) // no reader passes a writer
	unlock(t, second)
	empty(t, writer)
	unlock(t, first)
	l := take(t, writer)
	empty(t, late)
	unlock(t, l)
	unlock(t, take(t, late))
}

// nearestWriterLeaves: the reader behind it is woken, and must not go in.
func nearestWriterLeaves(t *testing.T, at harness.Endpoint, dies bool) {
	see, path := raw(t, at), newPath()
	_, a := newRW(t, at, path)
	client, b := newRW(t, at, path)
	_, c := newRW(t, at, path)
	held := grab(t, a.Lock)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	nearest := behind(ctx, b.Lock)
	reader := behind(t.Context(), c.RLock)
	if dies {
		client.Close()
	} else {
		cancel()
	}
	if r := <-nearest; r.err == nil {
		t.Fatal("the writer got in")
	}
	queued(t, see, path, 2)
	empty(t, reader)
	unlock(t, held)
	unlock(t, take(t, reader))
	queued(t, see, path, 0)
}

// middleReaderLeaves: the writer that watches it must wait for the other.
func middleReaderLeaves(t *testing.T, at harness.Endpoint) {
	see, path := raw(t, at), newPath()
	_, a := newRW(t, at, path)
	_, b := newRW(t, at, path)
	first, nearest := grab(t, a.RLock), grab(t, b.RLock)
	writer := behind(t.Context(), a.Lock)
	unlock(t, nearest)
	empty(t, writer)
	unlock(t, first)
	unlock(t, take(t, writer))
	queued(t, see, path, 0)
}

func readerExpires(t *testing.T, at harness.Endpoint) {
	p, see, path := newProxy(t, at), raw(t, at), newPath()
	reader := dial(t, p.at, zklock.ClientOptions{SessionTimeout: time.Second}).RW(path, zklock.Options{})
	_, b := newRW(t, at, path)
	held := grab(t, reader.RLock)
	writer := behind(t.Context(), b.Lock)
	empty(t, writer)
	p.refuse.Store(true)
	p.cut()
	l := take(t, writer)
	lost(t, held)
	if l.Token() <= held.Token() {
		t.Errorf("the writer's token is %d after the reader's %d", l.Token(), held.Token())
	}
	p.refuse.Store(false)
	unlock(t, l)
	unlock(t, grab(t, reader.RLock))
	queued(t, see, path, 0)
}

func readerReplyLost(t *testing.T, at harness.Endpoint) {
	p, see, path := newProxy(t, at), raw(t, at), newPath()
	_, m := newRW(t, p.at, path)
	unlock(t, grab(t, m.RLock))
	for _, o := range []taker{m.RLock, m.Owner().RLock} {
		p.swallow.Store(true)
		l := grab(t, o)
		if p.swallow.Load() {
			t.Fatal("the test shows nothing: no reply was lost")
		}
		queued(t, see, path, 1)
		unlock(t, l)
		queued(t, see, path, 0)
	}
	// And that of a writer who reads.
	o := m.Owner()
	w := grab(t, o.Lock)
	p.swallow.Store(true)
	r := grab(t, o.RLock)
	queued(t, see, path, 2)
	unlock(t, w)
	unlock(t, r)
	queued(t, see, path, 0)
}

func rwTry(t *testing.T, at harness.Endpoint) {
	see, path := raw(t, at), newPath()
	_, a := newRW(t, at, path)
	_, b := newRW(t, at, path)
	refused := func(what string, try taker) {
		t.Helper()
		if _, err := try(t.Context()); !errors.Is(err, zklock.ErrNotAcquired) {
			t.Errorf("%s = %v, want ErrNotAcquired", what, err)
		}
	}
	r := grab(t, a.TryRLock)
	unlock(t, grab(t, b.TryRLock))
	refused("TryLock beside a reader", b.TryLock)
	unlock(t, r)
	w := grab(t, a.TryLock)
	refused("TryRLock beside a writer", b.TryRLock)
	refused("TryLock beside a writer", b.TryLock)
	queued(t, see, path, 1)
	unlock(t, w)
	err := zklock.Do(t.Context(), a.Reader(), func(context.Context, *zklock.Lease) error {
		unlock(t, grab(t, b.TryRLock))
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}
