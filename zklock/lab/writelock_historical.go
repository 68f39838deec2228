package lab

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/go-zookeeper/zk"

	"locklab/harness"
)

// writeLockHistorical is [writeLock] as Apache publishes it, with two faults.
//
// The lock stalls forever (B1). If the ticket ahead goes between the list and exists, the loop
// ends as if another client were to wake us. The watch on the missing node never fires. Two
// sessions that take the lock alternately deadlock within a second.
//
// Two locks of one session take each other's tickets (B7). A ticket is identified by the
// session's number, so the second lock finds the first's and adopts it, by its bare name
// instead of a path. In the sorted list its real path then comes before it. So it watches its
// own ticket, and deletes an invalid path.
//
// # References
//
// Apache ZooKeeper 3.9, zookeeper-recipes-lock, WriteLock.java, ZNodeName.java,
// ProtocolSupport.java.
var writeLockHistorical = &harness.Variant{
	Name:   "zk-writelock-historical",
	Doc:    "Apache's recipe as published: stalls when the ticket ahead goes before it is watched",
	Paper:  "zookeeper-recipes-lock",
	Status: harness.Historical,
	Traits: harness.Traits{FIFO: true},
	Remote: remoteHistorical(func(r *historicalClient) func() harness.Session {
		return func() harness.Session { return &oldWriteLock{r: r} }
	}),
}

type oldWriteLock struct {
	r  *historicalClient
	id string // of the ticket: its path, or its name if it was adopted; "" for none
}

func (w *oldWriteLock) Close() error { return nil }

// Lock asks, and waits for the callback of the recipe, which asks again at every event.
func (w *oldWriteLock) Lock(ctx context.Context) (harness.Lease, error) {
	for {
		if err := ctx.Err(); err != nil {
			return nil, errors.Join(err, w.unlock())
		}
		state := w.r.events()
		owner, wake, err := w.retry(ctx)
		if owner {
			return newHistoricalLease(w.unlock), nil
		}
		if err == nil {
			err = await(ctx, w.r, wake, state)
		}
		if err != nil {
			return nil, errors.Join(err, w.unlock())
		}
	}
}

// retry is retryOperation: ten tries while the connection is lost.
func (w *oldWriteLock) retry(ctx context.Context) (owner bool, wake <-chan zk.Event, err error) {
	for attempt := range 10 {
		owner, wake, err = w.execute()
		if !errors.Is(err, zk.ErrConnectionClosed) {
			break
		}
		if err := w.r.sleep(ctx, time.Duration(attempt)*500*time.Millisecond); err != nil {
			return false, nil, err
		}
	}
	return owner, wake, err
}

// execute is one round. Behind others it returns false and a watch that may never fire.
func (w *oldWriteLock) execute() (owner bool, wake <-chan zk.Event, err error) {
	for {
		if w.id == "" {
			if err := w.adoptOrCreate(); err != nil {
				return false, nil, err
			}
		}
		names, _, err := w.r.Children(w.r.dir)
		if err != nil {
			return false, nil, err
		}
		var paths []string
		for _, name := range names {
			paths = append(paths, w.r.dir+"/"+name)
		}
		slices.SortFunc(paths, compareOld)
		switch i, _ := slices.BinarySearchFunc(paths, w.id, compareOld); {
		case i > 0:
			_, _, wake, err := w.r.ExistsW(paths[i-1])
			return false, wake, err // B1: whether it exists or not
		case len(paths) > 0:
			return paths[0] == w.id, nil, nil
		}
		w.id = ""
	}
}

func (w *oldWriteLock) adoptOrCreate() (err error) {
	names, _, err := w.r.Children(w.r.dir)
	if err != nil {
		return err
	}
	for _, name := range names {
		if strings.HasPrefix(name, w.r.prefix()) {
			w.id = name // B7
			return nil
		}
	}
	w.id, err = w.r.create(w.r.prefix())
	return err
}

func compareOld(a, b string) int {
	return cmp.Or(strings.Compare(suffix(a), suffix(b)), strings.Compare(a, b))
}

// unlock deletes the ticket; a bare name is not a path.
func (w *oldWriteLock) unlock() error {
	id := w.id
	w.id = ""
	if id == "" {
		return nil
	}
	return w.r.remove(id)
}
