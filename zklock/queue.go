package zklock

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

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

// newQueue returns the queue at path, of tickets of these kinds. The default is a Mutex's.
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

	// enter makes the ticket's node, by ticket.create (nil) or an equivalent request that may
	// already show the queue. It returns the zero view if a look is needed.
	enter func(t *ticket) (view, error)

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

// line returns the tickets of these kinds and the index of t, -1 without an error if it is gone.
func (t *ticket) line(kinds ...string) (line []recipe.Place, i int, stat *zk.Stat, err error) {
	names, stat, err := t.q.c.list(t.q.path)
	if errors.Is(err, zk.ErrNoNode) {
		return nil, -1, nil, nil
	}
	if err != nil {
		return nil, -1, nil, fmt.Errorf("zklock: list %s: %w", t.q.path, err)
	}
	line = places(names, kinds...)
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
// may lack the right to create the upper ones, which exist.
func (q *queue) makeNode(path string) error {
	err := q.createNode(path)
	if parent := path[:strings.LastIndexByte(path, '/')]; errors.Is(err, zk.ErrNoNode) && parent != "" {
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
