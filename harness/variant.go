package harness

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
)

// A Variant describes one lock: a declarative value that a family lists in its Suite. That
// adds the lock to the conformance tests, the benchmarks, the command line and the charts.
type Variant struct {
	// Name identifies the lock everywhere: lower case, words joined by '-'.
	// It must not end in "-digits", which benchmark tools read as GOMAXPROCS.
	Name string

	// Doc describes the lock in one line, without a capital or a full stop.
	Doc string

	// Paper is the source in short form, such as "Mellor-Crummey & Scott 1991"; the
	// comment of the file that implements the lock cites it in full.
	Paper string

	Family Family
	Status Status
	Traits Traits

	// Complexity is the burden of the lock on its user. Among locks with equal
	// measurements a report recommends the simplest.
	Complexity Complexity

	// Unavailable is the reason why this build or system cannot run the lock, or "". Such a
	// lock is listed and skipped; Local and Remote must not be called.
	Unavailable string

	// Model describes the model of the lock that Local returns in a build that simulates, if
	// the simulator cannot run its code. It is "" in every other build.
	Model string

	// MayStick maps rules of the conformance suite under which the lock sometimes gets stuck
	// to the known fault, which the suite logs. Every other finding counts. It is only for
	// other people's locks; Doc warns users of the fault.
	MayStick map[string]string

	// Exactly one of Local and Remote is set.

	// Local returns a new, free lock for s.Workers goroutines of one process.
	Local func(s Setup) Local

	// Remote connects one client to the servers at and returns its view of the
	// lock called key. All clients with the same key contend for one lock.
	Remote func(ctx context.Context, at Endpoint, key string) (Remote, error)

	// Loop, which may be nil, drives all workers of a Remote lock inside the lock's process,
	// such as threads of a Java process, so that no time includes a message between
	// processes. It drives the lock called key for w.Warmup, so that the queue forms, and then
	// for w.Window, and returns the acquisitions of both. Its error wraps ErrUsage if it cannot
	// drive w: the caller then uses the workers of Remote. It is never called for an open loop.
	Loop func(ctx context.Context, at Endpoint, key string, w Workload) (*LoopLog, error)
}

// Family groups locks by where they wait; charts give each family one hue.
type Family string

// The families.
const (
	Spin      Family = "spin"  // waits by polling memory
	Blocking  Family = "mutex" // waits in the Go scheduler or the kernel
	ZooKeeper Family = "zk"    // distributed, on a ZooKeeper ensemble
	Redis     Family = "redis" // distributed, on Redis servers
	Peer      Family = "peer"  // other people's locks, for comparison
)

// Status marks a variant that does not compete with others.
type Status string

// The statuses.
const (
	Correct    Status = ""           // competes with all other correct locks
	Control    Status = "control"    // measures the harness, not a lock
	Historical Status = "historical" // kept to show a published bug
	Broken     Status = "broken"     // must fail the conformance suite
)

var statuses = []Status{Correct, Control, Historical, Broken}

// Competes reports whether a lock of status s may be recommended. Files of earlier versions
// have two words for correct locks. A status of a later version does not compete.
func (s Status) Competes() bool { return s == Correct || s == "recommended" || s == "reference" }

// Complexity ranks how complex a lock is. A report uses it to choose among locks that are
// equally fast and fair. 0 is not judged, and counts as the most complex.
type Complexity int

// The complexities.
const (
	Standard Complexity = 1 + iota // in Go's standard library: nothing to add to a program
	Single                         // one shared word, one key or one node for any number of waiters
	Queued                         // a node, a ticket or an entry for each waiter as well
	Composed                       // several locks or protocols put together
)

// String returns the complexity in words.
func (c Complexity) String() string { return cmp.Or(complexityTexts[c], "not judged") }

var complexityTexts = map[Complexity]string{
	Standard: "in the standard library",
	Single:   "one word or key",
	Queued:   "one for each waiter",
	Composed: "several locks in one",
}

// Traits are claims. The conformance suite, the oracle and the failure scenarios check them.
type Traits struct {
	FIFO        bool   `json:"fifo,omitempty"`         // grants in order of arrival
	Doorway     bool   `json:"doorway,omitempty"`      // with FIFO: arrives by several steps, and the order is the order of their ends
	Bounded     bool   `json:"bounded,omitempty"`      // local: no waiter starves while others take it again and again; FIFO implies it
	Allocates   bool   `json:"allocates,omitempty"`    // local: an acquisition may allocate memory
	Handles     bool   `json:"handles,omitempty"`      // local: each worker needs a handle
	ReadWrite   bool   `json:"read_write,omitempty"`   // readers share: handles are RWLockers, OptimisticReaders or RWSessions
	Reentrant   bool   `json:"reentrant,omitempty"`    // its owner may take it again, and must release it once per acquisition
	Permits     int    `json:"permits,omitempty"`      // greatest number of simultaneous holders; 0 is one
	Fenced      bool   `json:"fenced,omitempty"`       // Lease.Token rises strictly in holding order
	FollowsWait bool   `json:"follows_wait,omitempty"` // local: its waiters follow Setup.Wait; otherwise no workload names a wait policy
	MaxWorkers  int    `json:"max_workers,omitempty"`  // most workers one lock serves; 0 is no limit
	Needs       string `json:"needs,omitempty"`        // kind of server, see Endpoint.Kind; "" for a local lock
	Servers     int    `json:"servers,omitempty"`      // number of independent servers of that kind; 0 is one
}

// Lacks returns the reason why a variant with these traits cannot run at the servers at,
// or "".
func (t Traits) Lacks(at Endpoint) string {
	if got := len(at.Addrs); got < t.Servers {
		return fmt.Sprintf("needs %d independent servers of kind %s, and there are %d", t.Servers, t.Needs, got)
	}
	return ""
}

// The kinds of server that Traits.Needs and Endpoint.Kind name.
const (
	KindRedis     = "redis"
	KindZooKeeper = "zookeeper"
)

var (
	nameRE = regexp.MustCompile(`^[a-z][a-z0-9.]*(-[a-z0-9.]+)*$`)
	tailRE = regexp.MustCompile(`-[0-9]+$`)
)

// Validate returns one error that joins every mistake in vs, or nil.
func Validate(vs []*Variant) error {
	var errs []error
	seen := make(map[string]bool)
	for _, v := range vs {
		t := v.Traits
		for _, mistake := range []struct {
			made bool
			text string
		}{
			{v.Name == "", "has no name"},
			{v.Name != "" && !nameRE.MatchString(v.Name), "is not lower-case words joined by '-'"},
			{tailRE.MatchString(v.Name), "ends in -digits, which benchmark tools read as GOMAXPROCS"},
			{seen[v.Name], "is listed twice"},
			{v.Doc == "", "is undocumented"},
			{v.Complexity < 0 || v.Complexity > Composed, fmt.Sprintf("has Complexity %d", v.Complexity)},
			{v.Paper == "", "names no source in Paper"},
			{!slices.Contains(Families, v.Family), fmt.Sprintf("has unknown family %q", v.Family)},
			{!slices.Contains(statuses, v.Status), fmt.Sprintf("has unknown status %q", v.Status)},
			{(v.Local == nil) == (v.Remote == nil), "must set exactly one of Local and Remote"},
			{(v.Remote != nil) != (t.Needs != ""), "must name in Traits.Needs the server it needs exactly if it is Remote"},
			{v.Loop != nil && v.Remote == nil, "has a Loop and is not Remote"},
			{len(v.MayStick) > 0 && v.Family != Peer, "may get stuck and is no lock of others"},
			{(t.FollowsWait || t.Bounded || t.Allocates || t.Handles) && v.Local == nil, "claims FollowsWait, Bounded, Allocates or Handles, which are of local locks"},
			{t.MaxWorkers < 0, "has negative MaxWorkers"},
			{t.Servers < 0 || t.Servers > 0 && t.Needs == "", "has negative Servers, or Servers without Traits.Needs"},
			{t.Doorway && !t.FIFO, "has a Doorway without FIFO"},
			{t.Permits < 0, "has negative Permits"},
		} {
			if mistake.made {
				errs = append(errs, fmt.Errorf("variant %q %s", v.Name, mistake.text))
			}
		}
		seen[v.Name] = true
	}
	return errors.Join(errs...)
}

// Misfit returns the reason why a lock with these traits cannot be measured under w with
// regard to servers, or "".
func (t Traits) Misfit(w Workload) string {
	switch {
	case t.Needs == "" && w.Ranks > 1:
		return "ranks share distributed locks, and this one lives in one process"
	case t.Needs == "" && (w.Servers > 1 || w.Durable || w.TLS || w.Delay != 0):
		return "servers, durable, tls and delay are axes of distributed locks, and this one is not"
	case t.Servers > 1 && w.Servers > 1 && w.Servers != t.Servers:
		return fmt.Sprintf("it uses %d independent servers, not %d", t.Servers, w.Servers)
	}
	return ""
}
