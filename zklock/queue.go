package zklock

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/go-zookeeper/zk"

	"locklab/zklock/internal/recipe"
)

type queue struct {
	c       *Client
	path    string
	name    string // path of the lock, perhaps different
	o       Options
	kinds   []string // of the tickets
	permits int      // 1 for what is no semaphore
}

var lockKinds = []string{fairQueue.kind}

func newQueue(c *Client, path string, o Options, kinds ...string) queue {
	if kinds == nil {
		kinds = lockKinds
	}
	return queue{c: c, path: path, name: path, o: o, kinds: kinds, permits: 1}
}

// Path returns the path of the lock.
func (q *queue) Path() string { return q.name }

// A protocol distinguishes one lock from another: names of tickets, looks at the queue,
// departure. [ticket] handles the rest, such as lost connections and replies.
type protocol struct {
	// kind is the part of a ticket's name between its unique part and its number.
	kind string

	// create is the request that makes the ticket's node. It returns its path, or zk.ErrNoNode if
	// the node of the lock does not exist.
	create func(t *ticket) (path string, err error)

	look func(t *ticket) (view, error)

	// remove is the request by which a holder leaves. It fails with zk.ErrNoNode if the node is
	// gone. nil is a plain delete, which waiters always use.
	remove func(t *ticket) error
}

type view struct {
	gone  bool            // the ticket is not in the queue any more
	head  bool            // the ticket has the lock
	token uint64          // if head: the fencing token
	wake  <-chan zk.Event // if neither: fires when to look again
	again time.Duration   // if not 0: time until the next look, with or without wake

	ticket *ticketWatch // the owner of wake, or nil
	gives  bool         // its event may be the lock
}

// number returns the server's number in the name of a ticket, ours, Curator's or zk.Lock's.
func number(name, kind string) (int32, bool) {
	i := strings.LastIndex(name, kind)
	if i < 0 || i > 0 && name[i-1] != '-' {
		return 0, false
	}
	digits := name[i+len(kind):]
	n, err := strconv.ParseInt(digits, 10, 32)
	if err != nil || digits[0] == '+' || n == 0 && digits[0] == '-' {
		return 0, false
	}
	width := 10 // the server's %010d, which counts the sign
	if n <= -1_000_000_000 {
		width = 11
	}
	return int32(n), len(digits) == width
}

// places returns the tickets of these kinds in order. Servers up to 3.5 wrap numbers, later ones
// repeat the greatest, so no ticket near the end is granted: see [ticket.exhausted].
func places(names []string, kinds ...string) (line []recipe.Place) {
	for _, name := range names {
		for _, kind := range kinds {
			if n, ok := number(name, kind); ok {
				line = append(line, recipe.Place{Name: name, Kind: kind, Number: n})
				break
			}
		}
	}
	slices.SortFunc(line, func(a, b recipe.Place) int {
		return cmp.Or(int(a.Number-b.Number), strings.Compare(a.Name, b.Name))
	})
	return line
}

// line returns the tickets and the index of t, -1 without an error if it is gone.
func (t *ticket) line() (line []recipe.Place, i int, stat *zk.Stat, err error) {
	names, stat, err := t.q.c.list(t.q.path)
	if errors.Is(err, zk.ErrNoNode) {
		return nil, -1, nil, nil
	}
	if err != nil {
		return nil, -1, nil, fmt.Errorf("zklock: list %s: %w", t.q.path, err)
	}
	line = places(names, t.q.kinds...)
	return line, t.index(line), stat, nil
}

func (t *ticket) index(line []recipe.Place) int {
	return slices.IndexFunc(line, func(p recipe.Place) bool { return p.Name == t.node })
}

// held returns how many tickets at the front of line hold the lock: one, or the readers before
// the first writer. A writer that reads on has two tickets with one number.
func held(line []recipe.Place) int {
	n := slices.IndexFunc(line, func(p recipe.Place) bool { return p.Kind != readKind })
	if n < 0 {
		return len(line)
	}
	n = max(n, 1)
	for n < len(line) && line[n].Number == line[n-1].Number {
		n++
	}
	return n
}

// makeNode makes the node at path and its missing parents. It tries the lowest first: a client
// may lack the right to create the upper ones, which exist. It tries again, up to five times, if
// an empty parent was removed meanwhile.
func (q *queue) makeNode(path string) error {
	parent := path[:strings.LastIndexByte(path, '/')]
	err := q.createNode(path)
	for try := 0; try < 5 && errors.Is(err, zk.ErrNoNode) && parent != ""; try++ {
		if err := q.makeNode(parent); err != nil {
			return err
		}
		err = q.createNode(path)
	}
	if err != nil && !errors.Is(err, zk.ErrNodeExists) {
		return fmt.Errorf("zklock: make %s: %w", quoted(path), err)
	}
	return nil
}

func (q *queue) createNode(path string) (err error) {
	if q.o.Container {
		_, err = q.c.conn.CreateContainer(path, nil, zk.FlagContainer, q.c.acl)
	} else {
		_, err = q.c.conn.Create(path, nil, zk.FlagPersistent, q.c.acl)
	}
	return err
}

// A server breaks the connection of each packet of 1 MiB (the default jute.maxbuffer) or more.
// A request has the paths of up to three tickets, or one and an ACL.
const (
	maxPath = 256 << 10 // bytes of the path of a lock
	maxACL  = 128 << 10 // bytes of an ACL
)

// ticketKinds are the parts of ticket names before their numbers.
var ticketKinds = []string{fairQueue.kind, readKind, writeKind, permitKind, leaseKind}

func checkPath(path string) error {
	if fault := pathFault(path); fault != "" {
		return fmt.Errorf("%w %s: %s; want one such as /locks/reindex", ErrPath, quoted(path), fault)
	}
	return nil
}

func pathFault(path string) string {
	switch {
	case len(path) > maxPath:
		return fmt.Sprintf("it has %d bytes, more than %d", len(path), maxPath)
	case path == "":
		return "it is empty"
	case path[0] != '/':
		return "it does not begin with /"
	case path == "/":
		return "the root cannot be a lock"
	case strings.HasSuffix(path, "/"):
		return "it ends with /"
	case path == "/zookeeper" || strings.HasPrefix(path, "/zookeeper/"):
		return "what is below /zookeeper belongs to the servers"
	}
	if i := strings.IndexFunc(path, unprintable); i >= 0 {
		return fmt.Sprintf("it has an unprintable character at byte %d", i)
	}
	for _, name := range strings.Split(path[1:], "/") {
		switch {
		case name == "":
			return "it has // in it"
		case name == "." || name == "..":
			return "names cannot be " + name
		case isTicket(name): // a permanent one would block a lock at its parent forever
			return quoted(name) + " is what a ticket of the lock above it would be called"
		}
	}
	return ""
}

func isTicket(name string) bool {
	return slices.ContainsFunc(ticketKinds, func(kind string) bool { _, ok := number(name, kind); return ok })
}

// unprintable reports whether the servers refuse names with r (PathUtils.validatePath): to them
// a character above U+FFFF is two surrogates. Invalid UTF-8 arrives here as U+FFFD.
func unprintable(r rune) bool {
	return unicode.IsControl(r) || r >= 0xd800 && r <= 0xf8ff || r >= 0xfff0
}

func quoted(path string) string {
	const most = 100
	if len(path) <= 2*most {
		return strconv.Quote(path)
	}
	return strconv.Quote(path[:most]) + "…" + strconv.Quote(path[len(path)-most:])
}

func explained(err error) error {
	if errors.Is(err, zk.ErrNoAuth) && !errors.Is(err, ErrNoAuth) {
		return fmt.Errorf("%w: %w", ErrNoAuth, err)
	}
	if request, is := strings.CutSuffix(err.Error(), ": "+quotaExceeded); is {
		return fmt.Errorf("%w: %s", ErrQuota, request)
	}
	return err
}

// quotaExceeded is the library's text for KeeperException.Code.QUOTAEXCEEDED (ZooKeeper 3.7),
// which it does not know.
const quotaExceeded = "unknown error: -125"

// ErrExhausted is returned by Lock if the ticket numbers are nearly used up and the node of the
// lock cannot be recreated, which would restart them at 0. Delete that node while no client
// holds the lock or waits for it. See docs/decisions/0017-zk-numbers.md.
var ErrExhausted = errors.New("zklock: the numbers of tickets are used up: delete the node of the lock while nobody holds it or waits for it")

// A server numbers sequential children up to 2^31-1, and then repeats that, or negative ones.
const (
	renewFrom  = 1 << 30       // a release with a number from here on may recreate the node
	renewEvery = 1 << 10       // if it is a multiple of this
	refuseFrom = 1<<31 - 1<<24 // a ticket from here on never holds the lock
	mostRenews = 3             // in one Lock
	noHash     = ":x"          // suffix of an identity that servers hide
)

var overtaken = []error{zk.ErrNotEmpty, zk.ErrBadVersion, zk.ErrNoNode, zk.ErrNodeExists}

func (t *ticket) exhausted() error {
	if n, _ := number(t.node, t.p.kind); n < 0 || n >= refuseFrom {
		return fmt.Errorf("%w: number %d at %s", ErrExhausted, n, t.q.path)
	}
	return nil
}

// renew recreates the node of the lock once it has no tickets; with try it does not wait.
func (q *queue) renew(ctx context.Context, try bool) error {
	var again pause
	for {
		err := q.remake()
		switch {
		case err == nil:
			return nil
		case try && errors.Is(err, zk.ErrNotEmpty):
			return fmt.Errorf("%w: %w: lock %s", ErrNotAcquired, ErrExhausted, q.path)
		case !transient(err) && !slices.ContainsFunc(overtaken, func(one error) bool { return errors.Is(err, one) }):
			return fmt.Errorf("%w: lock %s: %w", ErrExhausted, q.path, err)
		}
		if ended := again.wait(ctx, q.c); ended != nil {
			return fmt.Errorf("%w: lock %s: %w: %w", ErrExhausted, q.path, err, ended)
		}
	}
}

// remake recreates the node of the lock, with its data and ACL, in one transaction that fails
// with zk.ErrNotEmpty if there is a ticket. It returns nil if that is no longer necessary.
func (q *queue) remake() error {
	conn := q.c.conn
	data, stat, err := conn.Get(q.path)
	switch {
	case errors.Is(err, zk.ErrNoNode) || err == nil && issued(stat) < renewFrom:
		return nil
	case err != nil:
		return err
	case stat.NumChildren > 0:
		return q.onlyTickets()
	case stat.EphemeralOwner != 0: // a container, which servers also remove
		return conn.Delete(q.path, stat.Version)
	}
	acl, _, err := conn.GetACL(q.path)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(acl, func(a zk.ACL) bool { return a.Scheme == "digest" && strings.HasSuffix(a.ID, noHash) }) {
		return fmt.Errorf("the ACL of %s is hidden from this client", q.path)
	}
	_, err = conn.Multi(
		&zk.DeleteRequest{Path: q.path, Version: stat.Version},
		&zk.CreateRequest{Path: q.path, Data: data, Acl: acl},
	)
	return err
}

// issued returns the number of sequential nodes made below the node, at most 2^31-1.
func issued(stat *zk.Stat) uint32 { return uint32(stat.Cversion+stat.NumChildren) / 2 }

// onlyTickets returns zk.ErrNotEmpty if all children of the node are temporary tickets.
func (q *queue) onlyTickets() error {
	names, _, err := q.c.conn.Children(q.path)
	if err != nil && !errors.Is(err, zk.ErrNoNode) {
		return err
	}
	for _, name := range names {
		if !isTicket(name) {
			return fmt.Errorf("%s has a child that is no ticket: %s", q.path, quoted(name))
		}
	}
	return zk.ErrNotEmpty
}

// renewAfter recreates the free node after every renewEvery-th ticket from renewFrom on.
func (q *queue) renewAfter(n int32) {
	if n >= renewFrom && n%renewEvery == 0 {
		q.c.spawn(func() { q.remake() }) // else after another one
	}
}
