package zklock

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"unicode"
)

// The data of a sealed ticket, which only its client writes to, to release the lock, is four
// words: a marker, the version of this format, the client's identity, and its name, perhaps
// with spaces. A write is the lock only with this version; else the waiter lists the queue.
const (
	marker        = "zklock-sealed"
	formatVersion = 1
	sealPrefix    = "zklock" // of this marker and of the unversioned one
	maxName       = 256
)

const namePrefix = "client "

func (t tag) nameData() []byte {
	if t.name == "" {
		return nil
	}
	return []byte(namePrefix + t.name)
}

type tag struct{ identity, name string }

func (t tag) data() []byte {
	return fmt.Appendf(nil, "%s %d %s %s", marker, formatVersion, t.identity, t.name)
}

// parseTag parses the data of a ticket. ok is false for another version or program.
func parseTag(data []byte) (t tag, ok bool) {
	words := strings.SplitN(string(data), " ", 4)
	if len(words) != 4 || words[0] != marker || words[1] != strconv.Itoa(formatVersion) || words[2] == "" {
		return tag{}, false
	}
	return tag{words[2], words[3]}, true
}

func sealedData(data []byte) bool { return bytes.HasPrefix(data, []byte(sealPrefix)) }

func checkName(name string) error {
	if len(name) > maxName || strings.ContainsFunc(name, unicode.IsControl) {
		return fmt.Errorf("%w: the name of the client, %s: want at most %d bytes and no control characters", ErrUsage, quoted(name), maxName)
	}
	return nil
}
