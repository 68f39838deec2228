package zklock

import (
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode"

	"github.com/go-zookeeper/zk"

	"locklab/zklock/internal/recipe"
)

// handoffQueue is the protocol of every Mutex: the queue of [recipe.Fair], but a holder hands
// the lock to the next. The watch event of its release is also the lock.
//
//  1. Make a ticket, an EPHEMERAL_SEQUENTIAL node lock-<number> with a marker, which no other
//     client can write to (its ACL names an identity of this client).
//  2. If the previous number was this client's last holder, the lock is held. Else watch the
//     data of the ticket with the previous number, and go to 5.
//  3. If it does not exist or is not a sealed ticket, list the tickets. The owner of the
//     lowest holds the lock.
//  4. Watch the data of the next lower ticket. If it is gone, go to 3, or hold the lock if
//     there was no other.
//  5. The watch fires. If it is NodeDataChanged, the ticket had the marker and version 0, and
//     the connection has not broken since, the lock is held. Otherwise go to 3.
//  6. To release, one multi writes to the own ticket and deletes it. A waiter that gives up
//     only deletes it.
//
// The watch fires once, for the write, and the deletion is in the same transaction. Only the
// holder runs that multi, and nobody else can write. A crash, an expiry, a withdrawal and a
// deletion by hand all show as NodeDeleted; so does a release that was missed, after a
// reconnect. Numbers only grow, so no ticket comes between two neighbours.
// docs/decisions/0006-zk-handoff.md has the full argument, and models/handoff.pml checks every
// interleaving.
//
// Such a ticket has no unique name, and numbers restart with the node of the lock: see
// plain.go and models/plain.pml. Step 2 is skipped if numbers do not predict the next ticket.
//
// Acquire and release take two requests alone, and three if others come and go in between.
// Behind others they take three and one watch event, whatever their number, with no request
// between the release and the next holder.
//
// The token is the czxid of the own ticket, which rises in the order of holding. The header of
// the reply to 1 has it.
//
// # References
//
// Apache ZooKeeper, "ZooKeeper Recipes and Solutions", Locks, and Hunt, Konar, Junqueira,
// Reed, "ZooKeeper: Wait-free coordination for internet-scale systems", USENIX ATC 2010, §2.4,
// have the queue. The handover by the event is in neither; we know of no earlier description.
var handoffQueue = &protocol{kind: "lock-", create: createHandoff, remove: removeHandoff,
	look: func(t *ticket) (view, error) { return viewHandoff(t, recipe.Nearest, true) }}

// createHandoff makes the ticket's node, sealed if possible and if its holder hands over.
func createHandoff(t *ticket) (path string, err error) {
	c := t.q.c
	acl, data := c.acl, c.tag.nameData()
	if t.p.remove != nil {
		sealed, err := c.sealedACL(t.q.path)
		if err != nil {
			return "", err
		}
		if t.sealed = sealed != nil; t.sealed {
			acl, data = sealed, t.data()
			t.claim()
		} else {
			t.free()
			t.plain = false
		}
	}
	if t.plain {
		path, t.czxid, err = c.conn.CreateZxid(t.q.path+"/"+t.p.kind, data, zk.FlagEphemeralSequential, acl)
		if !errors.Is(err, zk.ErrNodeExists) { // numbers restarted while an old ticket was left
			return path, err
		}
		t.free()
		t.unnamed, t.plain = true, false
	}
	path, t.czxid, err = c.conn.CreateZxid(t.q.path+"/"+t.unique, data, zk.FlagEphemeralSequential, acl)
	return path, err
}

// viewHandoff looks at the line. The owner of the i-th ticket waits for the ticket that obstacle
// returns, or holds the lock if that is -1. A sole ticket ahead may be gone: alone means that no
// other, such as the second ticket of a writer that reads on, can have come between it and t.
func viewHandoff(t *ticket, obstacle func(line []recipe.Place, i int) int, alone bool) (view, error) {
	c := t.q.c
	if there, err := t.born(); !there {
		return view{gone: err == nil}, err
	}
	if v, known, err := t.short(); known || err != nil {
		return v, err
	}
	for {
		line, i, stat, err := t.line()
		if i < 0 || t.before(stat) {
			return view{gone: err == nil}, err
		}
		t.blind = false
		k := obstacle(line, i)
		if k < 0 {
			t.forecast(false)
			return view{head: true, token: t.czxid}, nil
		}
		ahead := line[k]
		t.place = i - held(line)
		w, err := c.watchTicket(t.q.path + "/" + ahead.Name)
		if errors.Is(err, zk.ErrNoNode) {
			if alone && i == 1 {
				return view{head: true, token: t.czxid}, nil
			}
			continue
		}
		if err != nil {
			return view{}, fmt.Errorf("zklock: watch %s/%s: %w", t.q.path, ahead.Name, err)
		}
		gives := ahead.Kind != readKind
		t.forecast(gives && t.behind(w) && ahead.Name == plainName(ahead.Kind, line[i].Number-1))
		return view{wake: w.wake, ticket: w, gives: gives}, nil
	}
}

// before reports whether the ticket is older than the node of the lock and was deleted with the
// node before. A plain name in the list then belongs to another ticket.
func (t *ticket) before(lock *zk.Stat) bool { return uint64(lock.Czxid) > t.czxid }

// born makes sure that the ticket's czxid is known, and reports whether the ticket exists.
func (t *ticket) born() (there bool, err error) {
	if t.czxid != 0 {
		return true, nil
	}
	there, stat, err := t.q.c.conn.Exists(t.path())
	if err != nil {
		return false, fmt.Errorf("zklock: look at own ticket %s: %w", t.path(), err)
	}
	if there {
		t.czxid = uint64(stat.Czxid)
	}
	return there, nil
}

// removeHandoff is the release that the next one receives as NodeDataChanged.
func removeHandoff(t *ticket) error {
	c := t.q.c
	if !t.sealed || t.lent != nil && t.lent() {
		return t.removeNode()
	}
	_, err := c.conn.Multi(
		&zk.SetDataRequest{Path: t.path(), Version: -1},
		&zk.DeleteRequest{Path: t.path(), Version: -1},
	)
	switch {
	case err == nil:
		c.histories.left(t.key(), true)
		if n, _ := number(t.node, t.p.kind); t.past != nil {
			t.past.last = turn{n, t.czxid, t.at}
		}
	case errors.Is(err, zk.ErrNoAuth): // a plain ticket is another's, unless removeNode finds otherwise
		if err = t.removeNode(); err == nil {
			c.unseal()
		}
	case !transient(err) && !errors.Is(err, zk.ErrNoNode): // such as a quota that is exceeded
		err = t.removeNode()
	}
	return err
}

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
	case transient(err) || errors.Is(err, zk.ErrNoNode) || err != nil && err.Error() == quotaExceeded:
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

func parseTag(data []byte) (t tag, ok bool) {
	words := strings.SplitN(string(data), " ", 4)
	if len(words) != 4 || words[0] != marker || words[1] != strconv.Itoa(formatVersion) || words[2] == "" {
		return tag{}, false
	}
	return tag{words[2], words[3]}, true
}

func checkName(name string) error {
	if len(name) > maxName || strings.ContainsFunc(name, unicode.IsControl) {
		return fmt.Errorf("%w: the name of the client, %s: want at most %d bytes and no control characters", ErrUsage, quoted(name), maxName)
	}
	return nil
}
