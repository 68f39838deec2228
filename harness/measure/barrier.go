package measure

import (
	"bytes"
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
	ctx, cancel := g.within(ctx)
	defer cancel()
	var lost *LostRankError
	for pause := firstPause; ; pause = longer(pause) {
		request, end := context.WithTimeout(ctx, answerTime)
		done, err := f(request)
		end()
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
		case !sleep(ctx, pause):
			return context.Cause(ctx)
		}
	}
}

func (g *Ranks) within(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(g.context, func() { cancel(context.Cause(g.context)) })
	return ctx, func() { stop(); cancel(nil) }
}

var errOrder = errors.New("measure: ranks reached different barriers")

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

// A LostRankError ends a run without some rank, or without the server.
type LostRankError struct {
	Who string // the rank or the server that is gone, without credentials
	Why string
}

func (e *LostRankError) Error() string { return "measure: " + e.Who + " " + e.Why }

const (
	beatPause = time.Second

	// silence is how long the server may not answer.
	silence = 6 * time.Second
)

// A watcher renews the claim of a rank and looks for the others.
type watcher struct {
	*Ranks
	answered time.Time // time of the server's last answer
	failed   int       // requests since then
}

func (g *Ranks) watch(ctx context.Context) {
	w := &watcher{Ranks: g, answered: time.Now()}
	for sleep(ctx, beatPause) {
		if lost := w.sendBeat(ctx); lost != nil && ctx.Err() == nil {
			g.cancel(lost)
			// The claim stays, so that the others see it and the farewell, until it expires.
			return
		}
	}
}

func (w *watcher) sendBeat(ctx context.Context) *LostRankError {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	own, silent := w.options.Rank, time.Since(w.answered)
	claims, err := w.meeting.beat(ctx, false)
	unanswered := time.Since(w.answered)
	gone := func(format string, args ...any) *LostRankError {
		return &LostRankError{w.meeting.at + ", where the ranks meet,", fmt.Sprintf(format, args...)}
	}
	switch {
	case err == nil && bytes.Equal(claims[own], w.claims[own]):
		w.answered, w.failed = time.Now(), 0
		return w.findLostRank(ctx, claims)
	case err == nil && silent < silence-2*beatPause:
		return gone("has lost the data of this run: was it restarted or emptied?")
	case err == nil:
		return &LostRankError{w.members[own].String(),
			fmt.Sprintf("is this one, and was taken for dead: it did not renew its claim for %v, because it was stopped, starved or cut off", silent.Round(time.Second/10))}
	case errors.Is(err, errRefused):
		return gone("refuses this rank: %v", err)
	case unanswered >= silence-beatPause/4 && w.failed > 0:
		return gone("has not answered for %v: %v", unanswered.Round(time.Second/10), err)
	}
	w.failed++
	return nil
}

// findLostRank returns an error if a rank is gone, or else if one has stopped the run.
func (w *watcher) findLostRank(ctx context.Context, claims [][]byte) (stopped *LostRankError) {
	left := w.haveLeft()
	for r, c := range claims {
		if left[r] || bytes.Equal(c, w.claims[r]) {
			continue
		}
		reasons, err := w.meeting.exchange(ctx, w.run, farewells, nil)
		switch {
		case err != nil:
			return nil // the next look
		case reasons[r] == nil:
			return &LostRankError{w.members[r].String(), "is gone: killed, stopped or cut off"}
		case len(reasons[r]) == 0:
			w.mu.Lock()
			w.left[r] = true
			w.mu.Unlock()
		default:
			stopped = &LostRankError{w.members[r].String(), "has stopped the run: " + string(reasons[r])}
		}
	}
	return stopped
}
