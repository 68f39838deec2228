package measure

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

var errTwice = errors.New("another value was posted there before")

// maxValue is the greatest size of a posted value, in bytes.
const maxValue = 512 << 10

// Share returns rank 0's value, after all ranks have called it: it is a barrier.
func (g *Ranks) Share(ctx context.Context, name string, value []byte) ([]byte, error) {
	if g.options.Rank != 0 {
		value = nil
	}
	all, err := g.gather(ctx, "share "+name, value)
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
func (g *Ranks) Gather(ctx context.Context, name string, value []byte) ([][]byte, error) {
	return g.gather(ctx, "gather "+name, value)
}

func gatherJSON[T any](ctx context.Context, g *Ranks, name string, own T) ([]T, error) {
	value, err := json.Marshal(own)
	if err != nil {
		return nil, fmt.Errorf("measure: %w", err)
	}
	values, err := g.gather(ctx, name, value)
	if err != nil {
		return nil, err
	}
	all := make([]T, len(values))
	for r, v := range values {
		if err := json.Unmarshal(v, &all[r]); err != nil {
			return nil, fmt.Errorf("measure: %v posted what this build cannot read: %w", g.members[r], err)
		}
	}
	return all, nil
}

func (g *Ranks) gather(ctx context.Context, name string, value []byte) ([][]byte, error) {
	g.barrier.Lock()
	defer g.barrier.Unlock()
	if g.broken != nil {
		return nil, g.broken
	}
	values, err := g.cross(ctx, name, value)
	if err != nil {
		g.broken = err
		return nil, err
	}
	g.next++
	return values, nil
}

func (g *Ranks) cross(ctx context.Context, name string, value []byte) ([][]byte, error) {
	if len(value) > maxValue {
		return nil, fmt.Errorf("measure: %d bytes to %s: want %d at most", len(value), name, maxValue)
	}
	at := strconv.Itoa(g.next)
	posted := false
	var all [][]byte
	err := g.insist(ctx, func(ctx context.Context) (done bool, err error) {
		if !posted {
			if err := g.board.post(ctx, g.run, at, pack(name, value)); err != nil {
				return false, err
			}
			posted = true
		}
		left := g.absent() // before reading values that they may have posted
		if all, err = g.board.read(ctx, g.run, at); err != nil {
			return false, err
		}
		if done, err = g.unpack(name, all); !done && err == nil {
			err = deserted(name, all, left)
		}
		return done, err
	})
	if err != nil {
		return nil, err
	}
	if g.next > 0 { // all are here, so all have read the earlier values
		dropping, cancel := context.WithTimeout(ctx, answerTime)
		defer cancel()
		g.board.drop(dropping, g.run, strconv.Itoa(g.next-1)) //nolint:errcheck // it goes with the run
	}
	return all, nil
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
		case errors.Is(err, errRefused) || errors.Is(err, errTwice) || errors.Is(err, errOrder):
			return fmt.Errorf("measure: %v: %w", g.at, err)
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

var errOrder = errors.New("ranks came to different barriers")

func (g *Ranks) unpack(name string, all [][]byte) (done bool, err error) {
	values := make([][]byte, len(all))
	done = true
	for r, posted := range all {
		if posted == nil {
			done = false
			continue
		}
		at, value, err := unpack(posted)
		if err != nil {
			return false, fmt.Errorf("%w: %v posted what this build cannot read", errOrder, g.members[r])
		}
		if at != name {
			return false, fmt.Errorf("%w: %v to %q, this one to %q", errOrder, g.members[r], at, name)
		}
		values[r] = value
	}
	if done {
		copy(all, values)
	}
	return done, nil
}

func pack(name string, value []byte) []byte {
	return append([]byte(strconv.Quote(name)+"\n"), value...)
}

func unpack(posted []byte) (name string, value []byte, err error) {
	quoted, rest, ok := strings.Cut(string(posted), "\n")
	if !ok {
		return "", nil, errors.New("measure: a posted value has no name")
	}
	if name, err = strconv.Unquote(quoted); err != nil {
		return "", nil, fmt.Errorf("measure: a posted value has no name: %w", err)
	}
	return name, []byte(rest), nil
}

func (g *Ranks) absent() []Rank {
	g.mu.Lock()
	defer g.mu.Unlock()
	var out []Rank
	for r := range g.members {
		if g.left[r] {
			out = append(out, g.members[r])
		}
	}
	return out
}

func deserted(name string, all [][]byte, left []Rank) error {
	for _, m := range left {
		if all[m.Rank] == nil {
			return &LostRankError{Members: []Rank{m}, Why: fmt.Sprintf("has left the run, while this rank waits for it to %s", name)}
		}
	}
	return nil
}
