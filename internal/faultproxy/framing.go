package faultproxy

import (
	"errors"
	"slices"
	"strings"
	"time"
)

// A Direction is where a message goes.
type Direction int

// The directions.
const (
	Request Direction = iota // from the client to the server
	Reply                    // from the server to the client, asked for or not
)

func (d Direction) String() string {
	if d == Request {
		return "request"
	}
	return "reply"
}

// A Framing reads one connection of a protocol. [ZooKeeper] and [Redis] make
// one.
type Framing interface {
	// Cut returns the length of the message at the start of stream, or 0 if
	// its end has not come yet. An error says that this is not the protocol;
	// the direction is then passed on unread. Both directions may be cut at
	// the same time.
	Cut(d Direction, stream []byte) (int, error)

	// Read says what a message is. It is called once for each, in order, by
	// one goroutine at a time. It keeps no part of raw.
	Read(d Direction, raw []byte) Message
}

// A Message is what a Framing understands of one.
type Message struct {
	// Op is the operation as the protocol names it, in a reply that of the
	// request: "create", "getChildren2", "evalsha". What the server sends
	// unasked is "event" for ZooKeeper and "push" for Redis; what could not
	// be read is "".
	Op string

	// Key is the path or the first key of a request, and of the request that
	// a reply answers.
	Key string

	// Call is the number of a request on its connection, from 1. A reply has
	// that of its request, and 0 if it has none.
	Call int

	// Body is the rest: [*ZooRequest], [*ZooReply] or [*ZooEvent]; []string
	// for a Redis command, and [Value].
	Body any
}

// A Sighting is a message on its way through the proxy.
type Sighting struct {
	At   time.Time // when the proxy had all of it
	Conn int       // the connection's number, from 1
	Dir  Direction
	Message
	Size int  // bytes, with the frame
	Lost bool // it will not arrive
}

// Op matches requests for one of the operations.
func Op(names ...string) func(Message) bool {
	return func(m Message) bool { return slices.Contains(names, m.Op) }
}

// Below matches requests for one of the operations whose key begins with
// prefix.
func Below(prefix string, names ...string) func(Message) bool {
	return func(m Message) bool { return slices.Contains(names, m.Op) && strings.HasPrefix(m.Key, prefix) }
}

// maxMessage bounds what is kept of an unfinished message: far more than a
// lock sends, and less than what four letters of text mean as a length.
const maxMessage = 16 << 20

var errForeign = errors.New("faultproxy: not a message of the protocol")

// A call is a request without a reply.
type call struct {
	number int
	xid    int32 // ZooKeeper
	code   int32 // ZooKeeper
	op     string
	key    string
	parts  int // Redis: replies still to come
}

// Unread is the Framing of a protocol that nothing is known of.
func Unread() Framing { return unread{} }

type unread struct{}

var errUnread = errors.New("faultproxy: not to be read")

func (unread) Cut(Direction, []byte) (int, error) { return 0, errUnread }
func (unread) Read(Direction, []byte) Message     { return Message{} }
