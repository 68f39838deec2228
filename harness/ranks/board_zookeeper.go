package ranks

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"

	wirezk "locklab/internal/wire/zookeeper"
)

// sessionTimeout is the life of a claim without contact to its client. The server ends
// sessions up to a tick later, usually 2 s.
const sessionTimeout = 5 * time.Second

// A zooBoard is a board in ZooKeeper. A claim is an ephemeral node. Posts are nodes below
// the run's node, not ephemeral, since others may read them after the rank has left.
type zooBoard struct {
	place
	conn    *wirezk.Conn
	own     []zk.ACL // of all nodes but the topmost
	value   []byte
	version int32    // of the claims' parent when they were read
	claims  [][]byte // nil before they were

	mu     sync.Mutex
	seen   map[int][]byte // values at the place of seenAt: posted values do not change
	seenAt string
}

func openZooKeeper(ctx context.Context, at address, p place, expiry time.Duration) (board, error) {
	endpoint := at.endpoint
	endpoint.SessionTimeout = sessionTimeout
	if expiry > 0 {
		endpoint.SessionTimeout = expiry
	}
	conn, err := wirezk.Connect(ctx, endpoint, wirezk.Options{})
	if err != nil {
		return nil, err
	}
	b := &zooBoard{place: p, conn: conn, own: zk.WorldACL(zk.PermAll)}
	if endpoint.Username != "" {
		b.own = zk.AuthACL(zk.PermAll) // for clients with the same credentials
	}
	return b, nil
}

// acl returns the access rights of a node. The topmost node is shared by the jobs of all
// users.
func (b *zooBoard) acl(name string) []zk.ACL {
	if name == zooTop {
		return zk.WorldACL(zk.PermAll)
	}
	return b.own
}

const zooTop = "/locklab-ranks"

func (b *zooBoard) root() string { return zooTop + "/" + b.job }

func (b *zooBoard) claimPath(rank int) string {
	return b.root() + "/claims/" + strconv.Itoa(rank)
}

func (b *zooBoard) runPath(run string) string { return b.root() + "/run-" + run }

func (b *zooBoard) valuePath(run, at string, rank int) string {
	return b.runPath(run) + "/" + at + "-" + strconv.Itoa(rank)
}

// do runs f, to which the client library gives no context, until ctx ends. f may then
// continue until the connection ends.
func do[T any](ctx context.Context, f func() (T, error)) (T, error) {
	type result struct {
		value T
		err   error
	}
	done := make(chan result, 1)
	go func() {
		v, err := f()
		done <- result{v, err}
	}()
	select {
	case r := <-done:
		return r.value, zooRefusal(r.err)
	case <-ctx.Done():
		var none T
		return none, ctx.Err()
	}
}

func (b *zooBoard) create(ctx context.Context, name string, value []byte, flags int32) error {
	for {
		_, err := do(ctx, func() (string, error) {
			return b.conn.Create(name, value, flags, b.acl(name))
		})
		if !errors.Is(err, zk.ErrNoNode) || path.Dir(name) == "/" {
			return err
		}
		// Another rank that leaves may remove a parent again.
		if err := b.create(ctx, path.Dir(name), nil, 0); err != nil && !errors.Is(err, zk.ErrNodeExists) {
			return err
		}
	}
}

func (b *zooBoard) get(ctx context.Context, name string) ([]byte, error) {
	v, err := do(ctx, func() ([]byte, error) {
		v, _, err := b.conn.Get(name)
		return v, err
	})
	if errors.Is(err, zk.ErrNoNode) {
		return nil, nil
	}
	if err == nil && v == nil {
		v = []byte{}
	}
	return v, err
}

func (b *zooBoard) claim(ctx context.Context, value []byte) (taken bool, holder []byte, err error) {
	b.value, b.claims = value, nil
	err = b.create(ctx, b.claimPath(b.rank), value, zk.FlagEphemeral)
	if !errors.Is(err, zk.ErrNodeExists) {
		return false, nil, err
	}
	holder, err = b.get(ctx, b.claimPath(b.rank))
	return err != nil || !bytes.Equal(holder, value), holder, err
}

func (b *zooBoard) beat(ctx context.Context, _ string) ([][]byte, error) {
	version, err := do(ctx, func() (int32, error) {
		_, stat, err := b.conn.Children(b.root() + "/claims")
		if err != nil {
			return 0, err
		}
		return stat.Cversion, nil
	})
	if errors.Is(err, zk.ErrNoNode) {
		return nil, errClaim
	}
	if err != nil {
		return nil, err
	}
	if b.claims != nil && version == b.version {
		return b.claims, nil
	}
	claims := make([][]byte, b.ranks)
	for r := range claims {
		if claims[r], err = b.get(ctx, b.claimPath(r)); err != nil {
			return nil, err
		}
	}
	if !bytes.Equal(claims[b.rank], b.value) {
		return nil, errClaim
	}
	b.claims, b.version = claims, version
	return claims, nil
}

func (b *zooBoard) post(ctx context.Context, run, at string, value []byte) error {
	name := b.valuePath(run, at, b.rank)
	err := b.create(ctx, name, value, 0)
	if !errors.Is(err, zk.ErrNodeExists) {
		return err
	}
	old, err := b.get(ctx, name)
	if err == nil && !bytes.Equal(old, value) {
		return errTwice
	}
	return err
}

func (b *zooBoard) read(ctx context.Context, run, at string) ([][]byte, error) {
	names, err := b.children(ctx, b.runPath(run))
	if err != nil {
		return nil, err
	}
	there := make(map[string]bool, len(names))
	for _, name := range names {
		there[name] = true
	}
	values := make([][]byte, b.ranks)
	for r := range values {
		if !there[at+"-"+strconv.Itoa(r)] {
			continue
		}
		if values[r], err = b.once(ctx, run, at, r); err != nil {
			return nil, err
		}
	}
	return values, nil
}

func (b *zooBoard) children(ctx context.Context, name string) ([]string, error) {
	names, err := do(ctx, func() ([]string, error) {
		names, _, err := b.conn.Children(name)
		return names, err
	})
	if errors.Is(err, zk.ErrNoNode) {
		return nil, nil
	}
	return names, err
}

// once reads a value that an earlier poll has not read yet.
func (b *zooBoard) once(ctx context.Context, run, at string, rank int) ([]byte, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	place := run + "/" + at
	if b.seenAt != place && at != farewells {
		b.seen, b.seenAt = make(map[int][]byte), place
	}
	if v, ok := b.seen[rank]; ok && b.seenAt == place {
		return v, nil
	}
	v, err := b.get(ctx, b.valuePath(run, at, rank))
	if err == nil && v != nil && b.seenAt == place {
		b.seen[rank] = v
	}
	return v, err
}

func (b *zooBoard) drop(ctx context.Context, run, at string) error {
	return b.remove(ctx, b.valuePath(run, at, b.rank))
}

func (b *zooBoard) remove(ctx context.Context, name string) error {
	_, err := do(ctx, func() (struct{}, error) { return struct{}{}, b.conn.Delete(name, -1) })
	if errors.Is(err, zk.ErrNoNode) {
		return nil
	}
	return err
}

// now returns the time of a write: the leader stamps each with its clock, in ms. It
// rewrites the own claim.
func (b *zooBoard) now(ctx context.Context) (now, resolution int64, err error) {
	stat, err := do(ctx, func() (*zk.Stat, error) { return b.conn.Set(b.claimPath(b.rank), b.value, -1) })
	if err != nil {
		return 0, 0, err
	}
	return stat.Mtime * int64(time.Millisecond), int64(time.Millisecond), nil
}

// leave removes the nodes of the run, and of earlier killed runs, if no rank is left. The
// removed nodes existed while it had its claim, so they belong to no later run.
func (b *zooBoard) leave(ctx context.Context, _ string) error {
	defer b.conn.Close()
	if b.value == nil {
		return nil
	}
	held, err := b.get(ctx, b.claimPath(b.rank))
	if err != nil || !bytes.Equal(held, b.value) {
		return err
	}
	old, err := b.children(ctx, b.root())
	if err == nil {
		err = b.remove(ctx, b.claimPath(b.rank))
	}
	if err != nil {
		return err
	}
	if err := b.remove(ctx, b.root()+"/claims"); err != nil {
		return nil // another rank has a claim: this is not the last
	}
	for _, name := range old {
		if strings.HasPrefix(name, "run-") {
			b.sweep(ctx, b.root()+"/"+name)
		}
	}
	b.remove(ctx, b.root())           //nolint:errcheck // a new run may be there
	b.remove(ctx, path.Dir(b.root())) //nolint:errcheck // other jobs may be there
	return nil
}

func (b *zooBoard) sweep(ctx context.Context, name string) {
	children, err := b.children(ctx, name)
	if err != nil {
		return
	}
	for _, child := range children {
		b.sweep(ctx, name+"/"+child)
	}
	b.remove(ctx, name) //nolint:errcheck // best effort
}

func (b *zooBoard) expiry() time.Duration { return 2*b.conn.SessionTimeout() + time.Second }

// spread is one tick of the servers, which end sessions by ticks, usually 2 s.
func (b *zooBoard) spread() time.Duration { return 2 * time.Second }

// errOthers adds an explanation to ZooKeeper's error: it accepts any user and password,
// but refuses access to the nodes of others.
var errOthers = errors.New("what is there is of other credentials: give all ranks the same, or the run another job")

func zooRefusal(err error) error {
	if errors.Is(err, zk.ErrNoAuth) {
		return fmt.Errorf("%w: %w: %w", errRefused, err, errOthers)
	}
	for _, lasting := range []error{zk.ErrAuthFailed, zk.ErrInvalidACL, zk.ErrBadArguments, zk.ErrInvalidPath} {
		if errors.Is(err, lasting) {
			return fmt.Errorf("%w: %w", errRefused, err)
		}
	}
	return err
}
