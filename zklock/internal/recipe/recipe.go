package recipe

import (
	"time"

	"github.com/go-zookeeper/zk"

	"locklab/internal/zksession"
)

// A Recipe defines the names of a lock's tickets, and how a look at the queue decides.
type Recipe struct {
	// Kind is the part of a ticket's name between its unique part and its number.
	Kind string

	// Persistent nodes do not end with their session.
	Persistent bool

	// Before, if not nil, sends the recipe's requests before the request that makes the node.
	Before func(t Ticket) error

	Look func(t Ticket) (View, error)
}

// A View is the result of Look.
type View struct {
	Gone  bool            // the ticket is not in the queue any more
	Head  bool            // the ticket has the lock
	Token uint64          // if Head: the fencing token
	Wake  <-chan zk.Event // if neither: fires when to look again
	Again time.Duration   // if not 0: time until the next look, with or without Wake
}

// A Place is a ticket in the queue.
type Place struct {
	Name, Kind string
	Number     int32
}

// A Ticket is one place in the queue of a lock, for a recipe.
type Ticket interface {
	Conn() *zksession.Conn // the client's
	Dir() string           // the node of the lock

	// Children returns the names below Dir by a request sent after the call. The tickets of a
	// client share them and must not change them.
	Children() (names []string, stat *zk.Stat, err error)

	// Line returns the tickets among names by their numbers, and this one's index or -1.
	Line(names []string) (line []Place, i int)

	// Watch watches the data of a ticket, by a shared watch, or returns zk.ErrNoNode.
	Watch(name string) (<-chan zk.Event, error)
}

// Engine is zklock's interface for recipes. A program that links zklock sets it at its start.
var Engine struct {
	// Mutex makes m, a *zklock.Mutex, follow r; RWMutex a *zklock.RWMutex two recipes.
	Mutex   func(m any, r Recipe)
	RWMutex func(m any, write, read Recipe)

	// Conn returns the session of a *zklock.Client.
	Conn func(client any) *zksession.Conn
}
