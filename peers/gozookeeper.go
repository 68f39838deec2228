package peers

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-zookeeper/zk"

	"locklab/harness"
	"locklab/internal/adapt"
	wirezk "locklab/internal/wire/zookeeper"
)

// goZooKeeper is unmodified zk.Lock of github.com/go-zookeeper/zk: a protected ephemeral
// sequential node, a list, a data watch on the next lower one, and a list again. It takes three
// requests alone, five and a watch event behind others.
//
// # Additions of the adapter
//
//   - A context. zk.Lock has none, and its waiter cannot be withdrawn. So every worker has a
//     separate session. A Lock whose context ends closes that session and so removes its ticket;
//     the next Lock opens a new one within its measured time.
//   - A loss signal from the library's events: Done closes when the server has reported that the
//     session expired. That is after the reconnect, when others may already hold the lock.
//
// # Unchanged behaviour
//
// After a failed request zk.Lock returns without removing its ticket, which then blocks all
// clients, including its own, until the session ends. A foreign child of the lock's node makes
// every Lock fail.
//
// # References
//
// github.com/go-zookeeper/zk v1.0.4, lock.go.
var goZooKeeper = newPeer("go-zookeeper-lock",
	"zk.Lock of github.com/go-zookeeper/zk v1.0.4, unmodified",
	"go-zookeeper/zk v1.0.4, lock.go",
	harness.KindZooKeeper, harness.Traits{FIFO: true}, newZKClient)

type zkClient struct {
	wirezk.Counter // of all sessions together
	at             harness.Endpoint
	path           string
}

func newZKClient(_ context.Context, at harness.Endpoint, key string) (harness.Remote, error) {
	return &zkClient{at: at, path: "/locklab/" + key}, nil
}

type zkConn struct {
	*wirezk.Conn
	alive context.Context // ends when the server reports that the session expired
}

func (r *zkClient) dial(ctx context.Context) (*zkConn, error) {
	alive, end := context.WithCancelCause(context.Background())
	conn, err := wirezk.Connect(ctx, r.at, wirezk.Options{
		Counter: &r.Counter,
		OnEvent: func(ev zk.Event) {
			if ev.Type == zk.EventSession && ev.State == zk.StateExpired {
				end(fmt.Errorf("%w: the session expired", harness.ErrLost))
			}
		},
	})
	if err != nil {
		end(nil)
		return nil, fmt.Errorf("peers: %w", err)
	}
	return &zkConn{conn, alive}, nil
}

func (r *zkClient) Join(ctx context.Context, _ int) (harness.Session, error) {
	conn, err := r.dial(ctx)
	if err != nil {
		return nil, err
	}
	return &zkSession{r, conn}, nil
}

func (r *zkClient) Close() error { return nil }

type zkSession struct {
	r    *zkClient
	conn *zkConn // nil from a Lock that gave up to the next one
}

var _ harness.Session = (*zkSession)(nil)

func (s *zkSession) Lock(ctx context.Context) (harness.Lease, error) {
	if ctx.Err() != nil {
		return nil, fmt.Errorf("peers: lock %s: %w", s.r.path, ctx.Err())
	}
	if s.conn != nil && s.conn.alive.Err() != nil {
		s.Close() // its lease would end before it began
	}
	if s.conn == nil {
		conn, err := s.r.dial(ctx)
		if err != nil {
			return nil, err
		}
		s.conn = conn
	}
	l := zk.NewLock(s.conn.Conn.Conn.Conn, s.r.path, s.acl())
	done := make(chan error, 1)
	go func() { done <- l.Lock() }()
	select {
	case err := <-done:
		if err != nil {
			return nil, fmt.Errorf("peers: lock %s: %w", s.r.path, err)
		}
		return adapt.NewLease(s.conn.alive, time.Time{}, func(ctx context.Context) (bool, error) { return zkUnlock(ctx, l) }), nil
	case <-ctx.Done():
		s.conn.Close()
		s.conn = nil
		<-done
		return nil, fmt.Errorf("peers: lock %s: %w", s.r.path, ctx.Err())
	}
}

func (s *zkSession) acl() []zk.ACL {
	if s.r.at.Username != "" {
		return zk.AuthACL(zk.PermAll)
	}
	return zk.WorldACL(zk.PermAll)
}

// Close removes the lock's node if it is unused, and ends the session.
func (s *zkSession) Close() error {
	if s.conn == nil {
		return nil
	}
	if s.conn.State() == zk.StateHasSession {
		// An error means that it is in use or gone.
		_ = s.conn.Delete(s.r.path, -1)
	}
	s.conn.Close()
	s.conn = nil
	return nil
}

func zkUnlock(ctx context.Context, l *zk.Lock) (held bool, err error) {
	_, err = await(ctx, func() (bool, error) { return true, l.Unlock() }, func(bool) {})
	if errors.Is(err, zk.ErrNoNode) {
		return false, nil
	}
	return err == nil, err
}
