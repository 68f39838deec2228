package zklock

import (
	"errors"
	"fmt"
	"strings"
	"unicode"

	"github.com/go-zookeeper/zk"
)

// checkPath returns an error that wraps ErrPath if no lock can be at path.
func checkPath(path string) error {
	bad := func(why string) error {
		return fmt.Errorf("%w %q: %s; want one such as /locks/reindex", ErrPath, path, why)
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

// unprintable reports whether the servers refuse names with r in them.
func unprintable(r rune) bool {
	return unicode.IsControl(r) || r >= 0xd800 && r <= 0xf8ff || r >= 0xfff0 && r <= 0xffff
}

// explained returns err, with what to do if it is one of those that users can
// do something about.
func explained(err error) error {
	if errors.Is(err, zk.ErrNoAuth) && !errors.Is(err, ErrNoAuth) {
		return fmt.Errorf("%w: %w", ErrNoAuth, err)
	}
	return err
}
