package zklock

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode"

	"github.com/go-zookeeper/zk"
)

// A seal lets a client make nodes that no other client can write to, by a random identity next
// to the user's credentials, if the servers enforce ACLs. A user may still delete them by hand.
type seal struct {
	mu             sync.Mutex
	user, password string
	known          bool
	acl            []zk.ACL // nil if the servers let others write anyway
}

// sealedACL returns the ACL of a sealed node below path, which must exist, or nil if these
// servers cannot seal. The first call tests that, by one request that they must refuse.
func (c *Client) sealedACL(path string) ([]zk.ACL, error) {
	s := &c.seal
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.known {
		return s.acl, nil
	}
	if s.user == "" {
		s.user, s.password = "zklock-"+rand.Text(), rand.Text()
	}
	err := c.conn.AddAuth("digest", []byte(s.user+":"+s.password))
	enforced := err == nil
	if err == nil {
		enforced, err = c.aclsEnforced(path)
	}
	switch {
	case transient(err) || errors.Is(err, zk.ErrNoNode):
		return nil, err
	case err == nil && enforced:
		s.acl = sealed(c.acl, s.user, s.password)
	}
	s.known = true
	return s.acl, nil
}

// aclsEnforced tries to write to a stranger's node: with skipACL=yes a server allows it.
func (c *Client) aclsEnforced(path string) (bool, error) {
	path += "/" + newUnique("probe")
	_, err := c.conn.Multi(
		&zk.CreateRequest{Path: path, Acl: zk.DigestACL(zk.PermAll, "zklock-nobody", rand.Text()), Flags: zk.FlagEphemeral},
		&zk.SetDataRequest{Path: path, Version: -1},
		&zk.DeleteRequest{Path: path, Version: -1},
	)
	if errors.Is(err, zk.ErrNoAuth) {
		return true, nil
	}
	return false, err
}

// checkACL refuses an ACL too long for a request, or with the scheme auth without a user: it
// would mean the seal's identity, and close the permanent nodes to all others.
func checkACL(acl []zk.ACL, o ClientOptions) error {
	size := 0
	for _, a := range acl {
		size += 12 + len(a.Scheme) + len(a.ID)
	}
	if size > maxACL {
		return fmt.Errorf("%w: ACL has %d bytes, more than %d", ErrUsage, size, maxACL)
	}
	certified := o.TLS != nil && (len(o.TLS.Certificates) > 0 || o.TLS.GetClientCertificate != nil)
	if o.Username != "" || certified {
		return nil
	}
	for _, a := range acl {
		if a.Scheme == "auth" {
			return fmt.Errorf("%w: ACL has the scheme auth, but there is neither a Username nor a client certificate that it could mean", ErrUsage)
		}
	}
	return nil
}

// sealed returns acl without the rights to change a node, plus one user with all rights.
func sealed(acl []zk.ACL, user, password string) []zk.ACL {
	var out []zk.ACL
	for _, a := range acl {
		if a.Perms &^= zk.PermWrite | zk.PermAdmin; a.Perms != 0 {
			out = append(out, a)
		}
	}
	return slices.Concat(out, zk.DigestACL(zk.PermAll, user, password))
}

// unseal stops sealing: the servers hash identities differently, so own nodes were closed.
func (c *Client) unseal() {
	c.seal.mu.Lock()
	defer c.seal.mu.Unlock()
	c.seal.acl = nil
}

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
