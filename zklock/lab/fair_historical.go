package lab

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-zookeeper/zk"

	"locklab/harness"
)

// fairHistorical is [fair] as printed in an article on the herd effect, typical first code.
// Its faults, by their numbers in the lab's list:
//
//   - B1: exists watches the ticket ahead, and its answer is ignored. If the ticket has just
//     gone, nothing ever wakes the waiter.
//   - B2: a waiter that was not first lists again to find the ticket ahead. If it is first by
//     then, it returns an error.
//   - B3: the watcher polls every 3 s until it is first, in the thread that delivers events.
//     All other watches wait, and the lock stays free for up to 3 s if a waiter dies.
//   - B4: a ticket's number is the text between the second and the third '-' of its path. That
//     fails if the lock's path has a '-', or the session's number is negative.
//   - B5: every event, including a lost connection, counts as the end of the ticket ahead.
//
// The article releases the lock by ending the process. Here Unlock deletes the ticket, and so
// does a Lock that fails. A '-' in the lab's keys becomes '_'.
//
// # References
//
// Source article 001, on the herd effect of ZooKeeper locks.
var fairHistorical = &harness.Variant{
	Name:   "zk-fair-historical",
	Doc:    "zk-fair as an article prints it: loses wake-ups, fails at random, polls in the event thread",
	Paper:  "source article 001",
	Status: harness.Historical,
	Traits: harness.Traits{FIFO: true},
	Remote: func(ctx context.Context, at harness.Endpoint, key string) (harness.Remote, error) {
		return remoteHistorical(func(r *historicalClient) func() harness.Session {
			thread := make(chan struct{}, 1)
			thread <- struct{}{}
			return func() harness.Session { return &oldFair{r: r, thread: thread} }
		})(ctx, at, strings.ReplaceAll(key, "-", "_"))
	},
}

type oldFair struct {
	r      *historicalClient
	thread chan struct{} // empty while the client's event thread is in a callback
	own    string        // path of the ticket
}

func (f *oldFair) Close() error { return nil }

func (f *oldFair) Lock(ctx context.Context) (l harness.Lease, err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if f.own, err = f.r.create(f.r.prefix()); err != nil {
		return nil, err
	}
	first, err := f.checkState()
	if err == nil && !first {
		err = f.listenNode(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, f.unlock())
	}
	return newHistoricalLease(f.unlock), nil
}

func (f *oldFair) checkState() (bool, error) {
	names, _, err := f.r.Children(f.r.dir)
	if err != nil {
		return false, err
	}
	own, err := oldNumber(f.own)
	if err != nil {
		return false, err
	}
	for _, name := range names {
		n, err := oldNumber(name)
		if err != nil {
			return false, err
		}
		if n < own {
			return false, nil
		}
	}
	return true, nil
}

// listenNode watches the ticket ahead, and returns when the own one is first.
func (f *oldFair) listenNode(ctx context.Context) error {
	names, err := f.r.tickets()
	if err != nil {
		return err
	}
	i := slices.Index(names, f.own[len(f.r.dir)+1:])
	if i <= 0 {
		return fmt.Errorf("zklock: %d tickets are ahead of %s, which was not the first", i, f.own) // B2
	}
	state := f.r.events()
	_, _, wake, err := f.r.ExistsW(f.r.dir + "/" + names[i-1])
	if err != nil {
		return err
	}
	if err := await(ctx, f.r, wake, state); err != nil { // B1, B5
		return err
	}
	return f.process(ctx)
}

func (f *oldFair) process(ctx context.Context) error {
	if err := await(ctx, f.r, f.thread, nil); err != nil {
		return err
	}
	defer func() { f.thread <- struct{}{} }()
	for {
		if first, err := f.checkState(); first || err != nil && !errors.Is(err, zk.ErrConnectionClosed) {
			return err
		}
		if err := f.r.sleep(ctx, 3*time.Second); err != nil { // B3
			return err
		}
	}
}

func (f *oldFair) unlock() error { return f.r.remove(f.own) }

// oldNumber returns the number of a ticket, 32 bits as in the article's language (B4).
func oldNumber(path string) (int32, error) {
	parts := strings.Split(path, "-")
	if len(parts) < 3 {
		return 0, fmt.Errorf("zklock: %s has no third part", path)
	}
	n, err := strconv.ParseInt(parts[2], 10, 32)
	if err != nil {
		return 0, fmt.Errorf("zklock: number of %s: %w", path, err)
	}
	return int32(n), nil
}
