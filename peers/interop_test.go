package peers_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"locklab/harness"
	"locklab/harness/locktest"
	"locklab/harness/oracle"
	"locklab/internal/backend"
	wirezk "locklab/internal/wire/zookeeper"
)

// interop lists the locks that exclude each other on one path. Unknown names are ignored.
var interop = []struct {
	name  string
	locks []string
	reads func(worker, turn int) bool
}{
	{"mutex", []string{"curator-mutex", "go-zookeeper-lock", "zk-fair", "zk-handoff", "zk-herd", "zk-curator"}, nil},
	{"mutex and one object", []string{"curator-mutex-shared", "curator-mutex", "zk-fair"}, nil},
	{"read-write", []string{"curator-rw", "zk-rw", "zk-rw-curator"}, func(worker, turn int) bool { return (worker+turn)%4 != 0 }},
}

// TestInterop: locks of different authors exclude each other on a path, in ticket order.
func TestInterop(t *testing.T) {
	t.Parallel()
	at := locktest.Endpoint(t, harness.KindZooKeeper)
	for _, group := range interop {
		t.Run(group.name, func(t *testing.T) {
			var vs []*harness.Variant
			for _, name := range group.locks {
				switch v := variant(name); {
				case v == nil:
					t.Logf("without %s: there is no such lock", name)
				case v.Unavailable != "" && backend.Required("java"):
					t.Fatalf("%s: %s", name, v.Unavailable)
				case v.Unavailable != "":
					t.Logf("without %s: %s", name, v.Unavailable)
				default:
					vs = append(vs, v)
				}
			}
			if len(vs) == 0 {
				t.Skipf("none of %q can run", group.locks)
			}
			contendFor(t, at, slices.Repeat(vs, max(2, 4/len(vs))), group.reads, turnsTogether())
		})
	}
}

func needTime(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("make test-all runs it")
	}
}

func needJavaAlone(t *testing.T) {
	t.Helper()
	if raceEnabled {
		t.Skip("it is about Java and the server, of which the race detector sees nothing; it runs without -race")
	}
	t.Parallel()
	needJava(t)
}

func needJava(t *testing.T) {
	t.Helper()
	if why := variant("curator-mutex").Unavailable; why != "" {
		if backend.Required("java") {
			t.Fatal(why)
		}
		t.Skip(why)
	}
}

func turnsTogether() int64 {
	if os.Getenv(locktest.StressEnv) != "" {
		return 10_000
	}
	return 1000
}

func contendFor(t *testing.T, at harness.Endpoint, vs []*harness.Variant, reads func(worker, turn int) bool, total int64) {
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	key := newKey()
	g, err := startGathering(ctx, at, key, vs)
	defer g.close()
	requireNoError(t, err)
	look := newObserver(t, at, "/locklab/"+key)
	g.inside, g.reads = look.enter, reads
	var left atomic.Int64
	left.Store(total)
	start := time.Now()
	requireNoError(t, g.turns(ctx, start, 0, func(int) bool { return left.Add(-1) >= 0 }))
	rate := float64(total) / time.Since(start).Seconds()
	holds := slices.Concat(g.holds...)
	oracle.Sort(holds)
	for _, v := range oracle.Overlaps(holds, 1) {
		t.Errorf("%s broken %d times: %s", v.Rule, v.Count, v.Detail)
	}
	if n := int64(len(holds)); n != look.turns || n+look.reads.Load() != total {
		t.Errorf("%d turns are logged, %d and %d of readers were seen, want %d", n, look.turns, look.reads.Load(), total)
	}
	for i, v := range vs {
		if len(g.holds[i]) == 0 {
			t.Errorf("a worker with %s never got the lock", v.Name)
		}
	}
	t.Logf("%d workers, %.0f turns per second, %d of %d by readers", len(vs), rate, look.reads.Load(), total)
}

// An observer is notified of all holders of one lock. For a writer it lists the queue: the
// least ticket is the holder's, and rises, unless a waiter was passed over.
type observer struct {
	conn    *wirezk.Conn
	path    string
	writing atomic.Bool
	reading atomic.Int64 // readers inside
	reads   atomic.Int64 // turns of readers

	// Guarded by writing.
	turns int64 // of writers
	last  int64 // ticket
}

func newObserver(t *testing.T, at harness.Endpoint, path string) *observer {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	conn, err := wirezk.Connect(ctx, at, wirezk.Options{})
	requireNoError(t, err)
	t.Cleanup(conn.Close)
	return &observer{conn: conn, path: path, last: -1}
}

func (o *observer) enter(i int, read bool) (leave func(), err error) {
	if read {
		o.reads.Add(1)
		o.reading.Add(1)
		if o.writing.Load() {
			err = fmt.Errorf("worker %d reads while another one writes", i)
		}
		return func() { o.reading.Add(-1) }, err
	}
	if !o.writing.CompareAndSwap(false, true) {
		return func() {}, fmt.Errorf("worker %d is inside together with another one", i)
	}
	if n := o.reading.Load(); n > 0 {
		err = fmt.Errorf("worker %d writes while %d read", i, n)
	}
	return func() { o.writing.Store(false) }, errors.Join(err, o.requireLeastTicket(i))
}

func (o *observer) requireLeastTicket(i int) error {
	names, _, err := o.conn.Children(o.path)
	if err != nil {
		return err
	}
	least, err := leastTicket(names)
	if err != nil {
		return err
	}
	return o.next(i, least)
}

func (o *observer) next(i int, ticket int64) error {
	if ticket <= o.last {
		return fmt.Errorf("at turn %d, of worker %d, ticket %d is the first in the queue after ticket %d was: a waiter was passed over", o.turns, i, ticket, o.last)
	}
	o.last = ticket
	o.turns++
	return nil
}

var ticketName = regexp.MustCompile(`^(_c_.*)?(lock-|__READ__|__WRIT__)[0-9]{10}$`)

func leastTicket(names []string) (int64, error) {
	least := int64(-1)
	for _, name := range names {
		if len(name) < 10 || !ticketName.MatchString(name) {
			return 0, fmt.Errorf("%s is no ticket", name)
		}
		n, err := strconv.ParseInt(name[len(name)-10:], 10, 64)
		if err != nil {
			return 0, fmt.Errorf("%s is no ticket: %w", name, err)
		}
		if least < 0 || n < least {
			least = n
		}
	}
	if least < 0 {
		return 0, errors.New("the lock is held, but there is no ticket")
	}
	return least, nil
}

// TestObserverRejects: the observer detects locks with different orders.
func TestObserverRejects(t *testing.T) {
	o := &observer{last: -1}
	for _, c := range []struct {
		names []string // at one turn
		ok    bool
	}{
		{[]string{"_c_b-lock-0000000007", "_c_a-lock-0000000003"}, true},
		{[]string{"_c_b-lock-0000000007", "_c_c-lock-0000000008"}, true},
		{[]string{"lock-0000000009", "_c_b-lock-0000000010"}, true},
		{[]string{"_c_b-lock-0000000007"}, false}, // 9 has passed 7
		{[]string{"_c_c-__READ__0000000010", "__WRIT__0000000011"}, true},
		{nil, false},
		{[]string{"foreign"}, false},
	} {
		least, err := leastTicket(c.names)
		if err == nil {
			err = o.next(0, least)
		}
		if (err == nil) != c.ok {
			t.Errorf("%q: %v, want success to be %t", c.names, err, c.ok)
		}
	}
}

// TestInteropRejects: overlaps with a client without a queue are detected.
func TestInteropRejects(t *testing.T) {
	t.Parallel()
	needJava(t)
	at := locktest.Endpoint(t, harness.KindZooKeeper)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	key := newKey()
	g, err := startGathering(ctx, at, key, []*harness.Variant{variant("curator-mutex"), variant("curator-mutex")})
	defer g.close()
	requireNoError(t, err)
	look := newObserver(t, at, "/locklab/"+key)
	g.inside = func(int, bool) (func(), error) { // deletes all tickets, including the holder's
		leave := func() {}
		names, _, err := look.conn.Children(look.path)
		if err != nil {
			return leave, err
		}
		for _, name := range names {
			if err := look.conn.Delete(look.path+"/"+name, -1); err != nil && !errors.Is(err, zk.ErrNoNode) {
				return leave, err
			}
		}
		return leave, nil
	}
	base := time.Now()
	for hold := 20 * time.Millisecond; hold < time.Second; hold *= 2 { // on a busy machine the next one takes a while
		requireNoError(t, g.turns(ctx, base, hold, func(turn int) bool { return turn < 5 }))
		holds := slices.Concat(g.holds...)
		oracle.Sort(holds)
		if len(oracle.Overlaps(holds, 1)) > 0 {
			return
		}
	}
	t.Error("the tickets of holders were removed, and no overlap is reported")
}
