package measure

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"time"

	"locklab/harness"
)

// maxValue is the greatest size of a posted value, in bytes.
const maxValue = 512 << 10

// A posted is a rank's value at a barrier.
type posted struct {
	Barrier string
	Value   []byte
}

// Share returns rank 0's value, after all ranks have called it: it is a barrier.
func (g *Ranks) Share(ctx context.Context, name string, value []byte) ([]byte, error) {
	if g.options.Rank != 0 {
		value = nil
	}
	all, err := g.Gather(ctx, name, value)
	if err != nil {
		return nil, err
	}
	return all[0], nil
}

// Gather returns the values of all ranks, at most 512 KiB each, in their order. It is a
// barrier: all ranks must call the same in the same order; names are for messages.
//
// If ctx or Context has ended, the error is its cause. After an error every barrier returns
// it.
func (g *Ranks) Gather(ctx context.Context, name string, value []byte) (all [][]byte, err error) {
	g.barrier.Lock()
	defer g.barrier.Unlock()
	if g.barrier.broken != nil {
		return nil, g.barrier.broken
	}
	if len(value) > maxValue {
		return nil, fmt.Errorf("measure: %d bytes to %s: want %d at most", len(value), name, maxValue)
	}
	own, err := json.Marshal(posted{name, value})
	if err != nil {
		return nil, fmt.Errorf("measure: %w", err)
	}
	g.barrier.broken = g.insist(ctx, func(ctx context.Context) (done bool, err error) {
		left := g.haveLeft() // before reading values that they may have posted
		posts, err := g.meeting.exchange(ctx, g.run, strconv.Itoa(g.barrier.next), own)
		if err == nil {
			all, err = g.values(name, posts, left)
		}
		return all != nil, err
	})
	g.barrier.next++
	return all, g.barrier.broken
}

// insist calls f with growing pauses until it is done. It retries after temporary errors,
// such as a lost connection: the watcher reports the loss of the server.
func (g *Ranks) insist(ctx context.Context, f func(context.Context) (done bool, err error)) error {
	var lost *LostRankError
	for pause := firstPause; ; pause = longer(pause) {
		request, cancel := context.WithTimeout(ctx, answerTime)
		done, err := f(request)
		cancel()
		switch {
		case done:
			return nil
		case errors.As(err, &lost):
			g.cancel(lost)
			return lost
		case errors.Is(err, harness.ErrUsage), errors.Is(err, errOrder):
			return err
		case errors.Is(err, errRefused):
			return g.meeting.unreachable(err)
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case g.context.Err() != nil:
			return context.Cause(g.context)
		}
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-ctx.Done():
		case <-g.context.Done():
		}
		timer.Stop()
	}
}

var errOrder = errors.New("measure: ranks came to different barriers")

// values returns the values in the posts of a barrier, or nil if some are missing.
func (g *Ranks) values(name string, posts [][]byte, left map[int]bool) ([][]byte, error) {
	all, missing := make([][]byte, len(posts)), false
	for r, text := range posts {
		var p posted
		switch {
		case text == nil && left[r]:
			return nil, &LostRankError{g.members[r].String(), "has left the run, while this rank waits for it at " + name}
		case text == nil:
			missing = true
		case json.Unmarshal(text, &p) != nil || p.Barrier != name:
			return nil, fmt.Errorf("%w: %v to %q, this one to %q", errOrder, g.members[r], p.Barrier, name)
		}
		all[r] = p.Value
	}
	if missing {
		return nil, nil
	}
	return all, nil
}

// decode returns the JSON values of all ranks.
func decode[T any](g *Ranks, values [][]byte) ([]T, error) {
	all := make([]T, len(values))
	for r, v := range values {
		if err := json.Unmarshal(v, &all[r]); err != nil {
			return nil, fmt.Errorf("measure: rank %d posted what this build cannot read: %w", r, err)
		}
	}
	return all, nil
}

func (g *Ranks) haveLeft() map[int]bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return maps.Clone(g.left)
}
