package zklock

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"unicode"
)

// The data of a ticket that only its client can write to, and which it writes to when,
// and only when, it releases the lock, is four words: a marker, the version of this
// format, what identifies the client, and its name, which may be empty and have spaces
// in it. A waiter takes the write for the lock only if it knows the version; behind any
// other data it lists the queue when it is woken.
const (
	marker        = "zklock-sealed"
	formatVersion = 1
	sealPrefix    = "zklock" // of this marker and of the one before there were versions
	maxName       = 256
)

// namePrefix is what the data of any other ticket has before the name of its client.
const namePrefix = "client "

// nameData returns the data of a ticket that others may write to: the name of its client,
// nothing if it has none.
func (t tag) nameData() []byte {
	if t.name == "" {
		return nil
	}
	return []byte(namePrefix + t.name)
}

// A tag is what a ticket says of its client.
type tag struct{ identity, name string }

// data returns the data of a sealed ticket.
func (t tag) data() []byte {
	return fmt.Appendf(nil, "%s %d %s %s", marker, formatVersion, t.identity, t.name)
}

// parseTag reads the data of a ticket. It is not ok if that is of another version or
// of another program.
func parseTag(data []byte) (t tag, ok bool) {
	words := strings.SplitN(string(data), " ", 4)
	if len(words) != 4 || words[0] != marker || words[1] != strconv.Itoa(formatVersion) || words[2] == "" {
		return tag{}, false
	}
	return tag{words[2], words[3]}, true
}

// sealedData reports whether data is that of a ticket to which only its client may
// write, whatever the version.
func sealedData(data []byte) bool { return bytes.HasPrefix(data, []byte(sealPrefix)) }

// checkName returns an error if a client cannot have that name.
func checkName(name string) error {
	if len(name) > maxName || strings.ContainsFunc(name, unicode.IsControl) {
		return fmt.Errorf("%w: the name of the client, %s: want at most %d bytes and no control characters", ErrUsage, quoted(name), maxName)
	}
	return nil
}
