package recipe

import (
	"time"

	"github.com/go-zookeeper/zk"

	"locklab/internal/zksession"
)

// A Recipe is what the tickets of a lock are called, and what a poll of the queue
// tells the owner of one.
type Recipe struct {
	// Kind is what a ticket's name has between its unique part and its number.
	Kind string

	// Enter makes the ticket's node, by Ticket.Create or a request of its own that does
	// the same. nil is Ticket.Create.
	Enter func(t Ticket) error

	// Look reads the queue once for the owner of t.
	Look func(t Ticket) (View, error)
}

// A View is what Look has shown.
type View struct {
	Gone  bool            // the ticket is not in the queue any more
	Head  bool            // the ticket has the lock
	Token uint64          // if Head: the fencing token
	Wake  <-chan zk.Event // if neither: when to look again
	Again time.Duration   // if not 0: when to look again, Wake or not
}

// A Place is a ticket in a queue that has several kinds.
type Place struct{ Name, Kind string }

// A Ticket is one place in the queue of a lock, as a recipe sees it.
type Ticket interface {
	Conn() *zksession.Conn // the client's
	ACL() []zk.ACL         // of nodes
	Dir() string           // the node of the lock
	Kind() string
	Unique() string // start of the node's name, which no other ticket has
	Name() string   // the node's name, "" while there is none

	// Create makes the node, and those above it if they are missing. Made does so by a
	// request that returns the node's path.
	Create() error
	Made(request func() (path string, err error)) error
	MakeParents() error
	Adopt(name string) // says that the node is there, by a request that was just answered

	// Children returns the names below Dir by a request that is sent after the call. The
	// tickets of a client share them, and must not change them.
	Children() (names []string, stat *zk.Stat, err error)

	// Ahead returns the name of the last ticket before this one, "" if this is the
	// first, and whether this one is among names.
	Ahead(names []string) (name string, present bool)

	// Line returns the tickets of these kinds in order of their numbers, and which of
	// them this one is, -1 if none.
	Line(names []string, kinds ...string) (line []Place, i int)

	// Watch watches the data of the ticket of that name, or returns zk.ErrNoNode. The
	// tickets of a client share a watch that is pending.
	Watch(name string) (<-chan zk.Event, error)
}

// Engine is what zklock offers to recipes. It is set when a program starts that has
// zklock in it.
var Engine struct {
	// Mutex makes m, a *zklock.Mutex, one that follows r. RWMutex does so with a
	// *zklock.RWMutex, whose writers and readers have a recipe each.
	Mutex   func(m any, r Recipe)
	RWMutex func(m any, write, read Recipe)

	// Conn returns the session of a *zklock.Client.
	Conn func(client any) *zksession.Conn
}
