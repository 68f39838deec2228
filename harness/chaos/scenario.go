package chaos

import (
	"bytes"
	"context"
	"maps"
	"reflect"
	"regexp"
	"sync"
	"time"

	"locklab/harness"
	"locklab/harness/oracle"
	"locklab/harness/result"
	"locklab/internal/backend"
	"locklab/internal/faultproxy"
)

// A Scenario is one failure and its expected effect on locks, listed in [Suite]. A try makes
// the fault once, for one lock or many, and judges each lock's history.
// It has many fields because a scenario is one row of a table.
type Scenario struct {
	Name     string // lower case, words joined by '-'
	Family   string // a few words for scenarios that differ in one thing
	Question string // ends with a question mark
	Fault    string // the injected fault, in one line without a full stop
	NoFault  bool   // Try records none: the use of the lock is tested
	Source   string // first report or description

	// Tests are the guarantees under test.
	Tests []result.Guarantee

	// Locks is a regular expression that matches the full names of the locks it
	// applies to. Fault explains why it does not apply to others.
	Locks string

	// Expect are the expected effects: the first whose Locks match counts.
	Expect []Expectation

	// Deadline is when a try ends in any case. It counts after the servers have been started.
	Deadline time.Duration

	// Prompt is how long a free lock may wait for its next holder before that is a stall: the
	// time to notice the failure on a busy machine if nothing has to expire. 0 is a second.
	Prompt time.Duration

	// Arrival is the time after a request until a client is surely in line, for locks that
	// serve in order; a client without a server is not in line. 0 is oracle.DefaultArrival.
	Arrival time.Duration

	// Down reports that the fault may keep requests from all servers until the lock is granted
	// again: a client that asks in the meantime may not be in line (oracle.Rules).
	Down bool

	// Alone tries one lock at a time, because one would disturb the other.
	Alone bool

	Tries int  // faults in a full run
	Short bool // a short run tries it once

	// Takes is the duration in seconds of the first try, with all its locks or one if each is
	// tried alone, on two busy processors (make chaos-full TRIES=1). It includes the start of the
	// servers. 0 is the deadline.
	Takes int

	// Aims are limits for figures of the locks that they name.
	Aims []Aim

	// Try makes the fault once. A step that fails ends it: the fault could not be made,
	// and the try does not count. Nor does a try, but for NoFault, that records no fault and
	// shows no anomaly.
	Try func(ctx context.Context, t *Try)
}

// An Expectation is the expected effect of a failure on some locks.
type Expectation struct {
	Locks     string           // a regular expression, as in Scenario
	Anomalies []oracle.Anomaly // possible anomalies; empty is safe
	Why       string           // in one sentence without a full stop
}

// An Aim is a limit for a figure of some locks.
type Aim struct {
	Locks string // a regular expression, as in Scenario
	result.FaultAim
}

// table returns rows with each field that a row leaves out taken from base.
func table(base Scenario, rows []Scenario) (out []*Scenario) {
	from := reflect.ValueOf(base)
	for i := range rows {
		to := reflect.ValueOf(&rows[i]).Elem()
		for f := range to.NumField() {
			if to.Field(f).IsZero() {
				to.Field(f).Set(from.Field(f))
			}
		}
		out = append(out, &rows[i])
	}
	return out
}

// DefaultPrompt replaces a Scenario.Prompt of 0.
const DefaultPrompt = time.Second

// Applies reports whether the scenario applies to a lock.
func (s *Scenario) Applies(lock result.Lock) bool {
	return lock.Traits.Needs != "" && matches(s.Locks, lock.Name)
}

// Expected returns the expectation for a lock, empty if no expectation names it.
func (s *Scenario) Expected(lock string) result.Expectation {
	for _, e := range s.Expect {
		if matches(e.Locks, lock) {
			return result.Expectation{Anomalies: e.Anomalies, Why: e.Why}
		}
	}
	return result.Expectation{}
}

func (s *Scenario) result(v *harness.Variant) *result.FaultResult {
	r := &result.FaultResult{
		Scenario: s.Name, Question: s.Question, Fault: s.Fault, Source: s.Source, Tests: s.Tests,
		Lock: result.Describe(v), Expected: s.Expected(v.Name), Started: time.Now(),
	}
	for _, a := range s.Aims {
		if matches(a.Locks, v.Name) {
			r.Aims = append(r.Aims, a.FaultAim)
		}
	}
	return r
}

func matches(pattern, name string) bool {
	ok, err := regexp.MatchString("^(?:"+pattern+")$", name)
	return err == nil && ok // TestSuite has compiled it
}

// A stopped is the panic of a step that failed. It ends the goroutine of Scenario.Try or
// of a lock in [Try.Each]; other goroutines must call only steps that return an error.
type stopped struct{ err error }

// steps runs f and returns the error of the step that failed.
func steps(f func()) (err error) {
	defer func() {
		switch p := recover().(type) {
		case nil:
		case stopped:
			err = p.err
		default:
			panic(p)
		}
	}()
	f()
	return nil
}

func check(err error) {
	if err != nil {
		panic(stopped{err})
	}
}

func must[T any](v T, err error) T {
	check(err)
	return v
}

// A Linked is a ZooKeeper ensemble. Any server can be cut off from the others while
// clients still reach it. Its methods may be called by any goroutine.
type Linked struct {
	server *backend.Server

	mu    sync.Mutex
	links map[route]link
}

// A route leads from one server to another. A pair of servers has one for elections and one
// for following.
type route struct {
	from, to int
	votes    bool
}

type link struct {
	*faultproxy.Proxy
	to string // the address of the destination
}

// StartLinked starts three new servers with the ticks and limits of ZooKeeper's sample
// configuration, even if LOCKLAB_ZOOKEEPER is set. The caller must Stop it. The error
// wraps [harness.ErrUnavailable] if there is no program to start.
func StartLinked(ctx context.Context) (*Linked, error) {
	e := &Linked{links: make(map[route]link)}
	server, err := backend.StartEnsembleOf(ctx, backend.EnsembleOptions{
		TickTime: 2 * time.Second, SyncLimit: 5, InitLimit: initLimit,
		Link:  func(from, to int, addr string) (string, error) { return e.add(route{from, to, false}, addr) },
		Elect: func(from, to int, addr string) (string, error) { return e.add(route{from, to, true}, addr) },
	})
	if err != nil {
		e.close()
		return nil, err
	}
	e.server = server
	return e, nil
}

// add puts a proxy between two servers, replacing one whose ports were taken.
func (e *Linked) add(r route, addr string) (string, error) {
	p, err := faultproxy.New(addr, faultproxy.Unread, faultproxy.Options{
		Await: 5 * time.Second,
		Edit:  func(_ faultproxy.Direction, raw []byte) []byte { return e.callBack(r, raw) },
	})
	if err != nil {
		return "", err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if old, ok := e.links[r]; ok {
		defer old.Close()
	}
	e.links[r] = link{p, addr}
	return p.Addr(), nil
}

// callBack edits an electing server's first message. It contains the server's own address,
// which a server of a greater number calls back, past the proxies: a proxy's address replaces
// it. The ports have the same number of digits, since the system chooses both.
func (e *Linked) callBack(r route, raw []byte) []byte {
	e.mu.Lock()
	defer e.mu.Unlock()
	back, ok := e.links[route{r.to, r.from, r.votes}]
	if !ok || len(back.to) != len(back.Addr()) {
		return raw
	}
	return bytes.Replace(raw, []byte(back.to), []byte(back.Addr()), 1)
}

func (e *Linked) all() map[route]link {
	e.mu.Lock()
	defer e.mu.Unlock()
	return maps.Clone(e.links)
}

func (e *Linked) close() {
	for _, l := range e.all() {
		l.Close()
	}
}

func (e *Linked) partition(server int, votesOnly bool) {
	for r, l := range e.all() {
		if (r.from == server || r.to == server) && (r.votes || !votesOnly) {
			l.Partition(true)
		}
	}
}

// Server returns the servers. They stop with the Linked.
func (e *Linked) Server() *backend.Server { return e.server }

// Isolate cuts a server off: traffic between it and the others disappears without notice
// to either side. It still answers pings of sessions and reads until SyncLimit is over.
func (e *Linked) Isolate(server int) { e.partition(server, false) }

// Depose breaks the connections of a leader on the side of its followers, which elect another,
// and hides that from the leader. It continues as a leader until SyncLimit is over.
func (e *Linked) Depose(leader int) {
	e.partition(leader, true)
	for r, l := range e.all() {
		if !r.votes && r.to == leader {
			l.Refuse(true)
			l.HalfClose()
		}
	}
}

// Stop ends the servers, in any state, and then the links.
func (e *Linked) Stop() error {
	err := e.server.Stop()
	e.close()
	return err
}
