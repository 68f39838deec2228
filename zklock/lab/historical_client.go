package lab

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"

	"locklab/harness"
	"locklab/internal/adapt"
	wirezk "locklab/internal/wire/zookeeper"
)

// A historicalClient is a client of a historical lock: published code, with its faults, on the plain
// client library. Code that ended with its process ends here with the context or the client.
type historicalClient struct {
	*wirezk.Conn
	dir  string
	join func() harness.Session // makes a worker

	open context.Context // ends with Close
	shut context.CancelFunc

	mu    sync.Mutex
	state chan struct{} // closed and replaced by an event of the connection
	work  sync.WaitGroup
}

var errClosed = errors.New("zklock: the client is closed")

// remoteHistorical returns the constructor of a historical Variant. start returns the join of a client.
func remoteHistorical(start func(*historicalClient) (join func() harness.Session)) func(context.Context, harness.Endpoint, string) (harness.Remote, error) {
	return func(ctx context.Context, at harness.Endpoint, key string) (harness.Remote, error) {
		r := &historicalClient{dir: root + "/" + key, state: make(chan struct{})}
		conn, err := wirezk.Connect(ctx, at, wirezk.Options{OnEvent: r.onEvent})
		if err != nil {
			return nil, fmt.Errorf("zklock: %w", err)
		}
		r.Conn = conn
		r.open, r.shut = context.WithCancel(context.Background())
		if err := r.makeDir(); err != nil {
			r.Close()
			return nil, err
		}
		r.join = start(r)
		return r, nil
	}
}

func (r *historicalClient) makeDir() error {
	path := ""
	for _, name := range strings.Split(r.dir[1:], "/") {
		path += "/" + name
		_, err := r.Create(path, nil, zk.FlagPersistent, zk.WorldACL(zk.PermAll))
		if err != nil && !errors.Is(err, zk.ErrNodeExists) {
			return fmt.Errorf("zklock: make %s: %w", path, err)
		}
	}
	return nil
}

func (r *historicalClient) Join(context.Context, int) (harness.Session, error) { return r.join(), nil }

// Close removes the node of the lock if it is empty, if a server answers, and closes the client.
func (r *historicalClient) Close() error {
	r.shut()
	defer r.work.Wait()
	return adapt.CloseAfter(func() { r.Delete(r.dir, -1) }, func() error { r.Conn.Close(); return nil })
}

// onEvent passes each event of the connection to all watchers, as ZooKeeper's own client does.
func (r *historicalClient) onEvent(ev zk.Event) {
	if ev.Type != zk.EventSession || ev.State != zk.StateDisconnected && ev.State != zk.StateExpired {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	close(r.state)
	r.state = make(chan struct{})
}

func (r *historicalClient) events() <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.state
}

// await waits for wake or an event of the connection, until ctx or the client ends.
func await[E any](ctx context.Context, r *historicalClient, wake <-chan E, state <-chan struct{}) error {
	select {
	case <-wake:
		return nil
	case <-state:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-r.open.Done():
		return errClosed
	}
}

func (r *historicalClient) sleep(ctx context.Context, d time.Duration) error {
	return await(ctx, r, time.After(d), nil)
}

func (r *historicalClient) remove(path string) error {
	if err := r.Delete(path, -1); !errors.Is(err, zk.ErrNoNode) {
		return err
	}
	return nil
}

func (r *historicalClient) create(prefix string) (string, error) {
	return r.Create(r.dir+"/"+prefix, nil, zk.FlagEphemeralSequential, zk.WorldACL(zk.PermAll))
}

func (r *historicalClient) prefix() string { return fmt.Sprintf("x-%d-", r.SessionID()) }

func (r *historicalClient) tickets() ([]string, error) {
	names, _, err := r.Children(r.dir)
	slices.SortFunc(names, func(a, b string) int { return strings.Compare(suffix(a), suffix(b)) })
	return names, err
}

func suffix(name string) string { return name[strings.LastIndexByte(name, '-')+1:] }

// newHistoricalLease returns a lease that ends only by Unlock: these locks do not notice a loss.
func newHistoricalLease(free func() error) harness.Lease {
	return adapt.NewLease(context.Background(), time.Time{}, func(context.Context) (bool, error) { return true, free() })
}
