package zklock

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/go-zookeeper/zk"
)

// A server breaks the connection of each packet of 1 MiB (the default jute.maxbuffer) or more.
// A request has the paths of up to three tickets, or one and an ACL.
const (
	maxPath = 256 << 10 // bytes of the path of a lock
	maxACL  = 128 << 10 // bytes of an ACL
)

// ticketKinds are the parts of ticket names before their numbers.
var ticketKinds = []string{fairQueue.kind, readKind, writeKind, permitKind, leaseKind}

// checkPath returns an error that wraps ErrPath for an invalid path of a lock.
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

// isTicket reports whether a node of that name is a ticket of some lock.
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
	return err
}
