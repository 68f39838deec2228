package ranks

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// errTwice says that a rank has posted two values at one place.
var errTwice = errors.New("another value was posted there before")

// maxValue is how many bytes a rank may post.
const maxValue = 512 << 10

// Share returns what rank 0 gave; the values of others are not used. It is a barrier: it
// returns when all ranks have called it.
func (g *Group) Share(ctx context.Context, name string, value []byte) ([]byte, error) {
	if g.options.Rank != 0 {
		value = nil
	}
	all, err := g.gather(ctx, "share "+name, value)
	if err != nil {
		return nil, err
	}
	return all[0], nil
}

// Gather returns what each rank gave, in their order. It is a barrier: it returns when
// all ranks have called it. A value has 512 KiB at most. Names are for messages: they
// may repeat, but all ranks must come to the same barriers in the same order.
//
// The error is the cause of ctx or of Context, whichever ended, and names what is wrong
// otherwise. After an error there are no more barriers: they all return it.
func (g *Group) Gather(ctx context.Context, name string, value []byte) ([][]byte, error) {
	return g.gather(ctx, "gather "+name, value)
}

// gatherJSON is Gather of a value of each rank.
func gatherJSON[T any](ctx context.Context, g *Group, name string, own T) ([]T, error) {
	value, err := json.Marshal(own)
	if err != nil {
		return nil, fmt.Errorf("ranks: %w", err)
	}
	values, err := g.gather(ctx, name, value)
	if err != nil {
		return nil, err
	}
	all := make([]T, len(values))
	for r, v := range values {
		if err := json.Unmarshal(v, &all[r]); err != nil {
			return nil, fmt.Errorf("ranks: %v posted what this build cannot read: %w", g.members[r], err)
		}
	}
	return all, nil
}

func (g *Group) gather(ctx context.Context, name string, value []byte) ([][]byte, error) {
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

// cross passes the barrier with the number next.
func (g *Group) cross(ctx context.Context, name string, value []byte) ([][]byte, error) {
	if len(value) > maxValue {
		return nil, fmt.Errorf("ranks: %d bytes to %s: want %d at most", len(value), name, maxValue)
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
		left := g.absent() // before what they may have posted is read
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
	if g.next > 0 { // all have come here, so all have read what was posted before
		dropping, cancel := context.WithTimeout(ctx, answerTime)
		defer cancel()
		g.board.drop(dropping, g.run, strconv.Itoa(g.next-1)) //nolint:errcheck // it goes with the run
	}
	return all, nil
}

// insist calls f until it is done, with growing pauses. What passes, such as a lost
// connection, it tries again: the watcher says when the server is gone.
func (g *Group) insist(ctx context.Context, f func(context.Context) (done bool, err error)) error {
	var lost *LostError
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
			return fmt.Errorf("ranks: %v: %w", g.at, err)
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

// errOrder says that ranks came to different barriers.
var errOrder = errors.New("ranks came to different barriers")

// unpack replaces what was posted by its values, if all have posted.
func (g *Group) unpack(name string, all [][]byte) (done bool, err error) {
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

// pack is what a rank posts at a barrier.
func pack(name string, value []byte) []byte {
	return append([]byte(strconv.Quote(name)+"\n"), value...)
}

// unpack reverses pack.
func unpack(posted []byte) (name string, value []byte, err error) {
	quoted, rest, ok := strings.Cut(string(posted), "\n")
	if !ok {
		return "", nil, errors.New("ranks: a posted value has no name")
	}
	if name, err = strconv.Unquote(quoted); err != nil {
		return "", nil, fmt.Errorf("ranks: a posted value has no name: %w", err)
	}
	return name, []byte(rest), nil
}

// absent returns the ranks that have left.
func (g *Group) absent() []Member {
	g.mu.Lock()
	defer g.mu.Unlock()
	var out []Member
	for r := range g.members {
		if g.left[r] {
			out = append(out, g.members[r])
		}
	}
	return out
}

// deserted returns an error if a rank that has left has not posted.
func deserted(name string, all [][]byte, left []Member) error {
	for _, m := range left {
		if all[m.Rank] == nil {
			return &LostError{Members: []Member{m}, Why: fmt.Sprintf("has left the run, while this rank waits for it to %s", name)}
		}
	}
	return nil
}
