package zklock

import (
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"sync"

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
