package faultproxy

import (
	"errors"
	"slices"
	"time"
)

// A Direction is the direction of a message.
type Direction int

// The directions.
const (
	Request Direction = iota // from the client to the server
	Reply                    // from the server to the client, solicited or not
)

func (d Direction) String() string {
	if d == Request {
		return "request"
	}
	return "reply"
}

// A Framing decodes one connection of a protocol. [ZooKeeper] and [Redis] make one.
type Framing interface {
	// Cut returns the length of the message at the start of stream, or 0 if it is incomplete.
	// An error makes the direction pass unread. Both directions may call it at the same time.
	Cut(d Direction, stream []byte) (int, error)

	// Read decodes a message. It is called once for each, in order, by one goroutine at a
	// time. It keeps no part of raw.
	Read(d Direction, raw []byte) Message
}

// A Message is the decoded part of a message.
type Message struct {
	// Op is the operation, of a reply its request's: "create", "getChildren2", "evalsha";
	// "event" (ZooKeeper) or "push" (Redis) if unsolicited, "" if undecodable.
	Op string

	// Key is the path or the first key of a request, and in a reply of its request.
	Key string

	// Call is the number of a request on its connection, from 1. A reply has the number
	// of its request, or 0 without one.
	Call int

	// Body is the rest: [*ZooRequest], [*ZooReply] or [*ZooEvent]; []string for a Redis
	// command, and [wire.Value].
	Body any
}

// A Sighting is a message on its way through the proxy.
type Sighting struct {
	At   time.Time // when the proxy had received all of it
	Conn int       // the connection's number, from 1
	Dir  Direction
	Message
}

// MaintainsConnection reports whether the message sets up, keeps alive or ends its connection.
func (m Message) MaintainsConnection() bool {
	return slices.Contains([]string{"ping", "connect", "auth", "hello", "client", "select", "closeSession"}, m.Op)
}

// Op matches requests with one of the operations.
func Op(names ...string) func(Message) bool {
	return func(m Message) bool { return slices.Contains(names, m.Op) }
}

type call struct {
	number int
	xid    int32 // ZooKeeper
	code   int32 // ZooKeeper
	op     string
	key    string
	parts  int // Redis: remaining replies
}

// Unread returns the Framing of an unknown protocol.
func Unread() Framing { return unread{} }

type unread struct{}

var errUnread = errors.New("faultproxy: not to be read")

func (unread) Cut(Direction, []byte) (int, error) { return 0, errUnread }
func (unread) Read(Direction, []byte) Message     { return Message{} }
