package zklock

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode"

	"github.com/go-zookeeper/zk"
)

// A server breaks the connection of each packet of 1 MiB (the default jute.maxbuffer) or more.
// A request has the paths of up to three tickets, or one and an ACL.
const (
	maxPath   = 256 << 10 // bytes of the path of a lock
	maxTicket = 64        // bytes of the name of a ticket, and the slash before it
	maxACL    = 128 << 10 // bytes of an ACL
)

// ticketKinds are the parts of ticket names before their numbers.
var ticketKinds = []string{fairQueue.kind, readKind, writeKind, permitKind, leaseKind}

// checkPath returns an error that wraps ErrPath for an invalid path of a lock.
func checkPath(path string) error {
	if err := checkNode(path, maxPath); err != nil {
		return err
	}
	// A permanent node that looked like a ticket would block a lock at its parent forever.
	for _, name := range strings.Split(path[1:], "/") {
		for _, kind := range ticketKinds {
			if _, ok := number(name, kind); ok {
				return fmt.Errorf("%w %s: %s is what a ticket of the lock above it would be called; want one such as /locks/reindex", ErrPath, quoted(path), quoted(name))
			}
		}
	}
	return nil
}

func checkNode(path string, most int) error {
	bad := func(why string) error {
		return fmt.Errorf("%w %s: %s; want one such as /locks/reindex", ErrPath, quoted(path), why)
	}
	if len(path) > most {
		return bad(fmt.Sprintf("it has %d bytes, more than %d", len(path), most))
	}
	switch {
	case path == "":
		return bad("it is empty")
	case path[0] != '/':
		return bad("it does not begin with /")
	case path == "/":
		return bad("the root cannot be a lock")
	case strings.HasSuffix(path, "/"):
		return bad("it ends with /")
	case path == "/zookeeper" || strings.HasPrefix(path, "/zookeeper/"):
		return bad("what is below /zookeeper belongs to the servers")
	}
	for _, name := range strings.Split(path[1:], "/") {
		switch name {
		case "":
			return bad("it has // in it")
		case ".", "..":
			return bad("names cannot be " + name)
		}
	}
	if i := strings.IndexFunc(path, unprintable); i >= 0 {
		return bad(fmt.Sprintf("it has an unprintable character at byte %d", i))
	}
	return nil
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

// checkTicket returns an error that wraps ErrPath unless path is a ticket's.
func checkTicket(path string) error {
	if err := checkNode(path, maxPath+maxTicket); err != nil {
		return err
	}
	i := strings.LastIndexByte(path, '/')
	if err := checkPath(path[:max(i, 1)]); err != nil {
		return err
	}
	if _, ok := number(path[i+1:], fairQueue.kind); !ok {
		return fmt.Errorf("%w %s: not that of a ticket, as Participants returns them", ErrPath, quoted(path))
	}
	return nil
}

func explained(err error) error {
	if errors.Is(err, zk.ErrNoAuth) && !errors.Is(err, ErrNoAuth) {
		return fmt.Errorf("%w: %w", ErrNoAuth, err)
	}
	return err
}
