package measure

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"
)

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
		if lost := w.look(ctx); lost != nil && ctx.Err() == nil {
			g.cancel(lost)
			// The claim stays, so that the others see it and the farewell, until it expires.
			return
		}
	}
}

func (w *watcher) look(ctx context.Context) *LostRankError {
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
		return w.judge(ctx, claims)
	case err == nil && silent < silence-2*beatPause:
		return gone("has lost what this run had there: was it restarted or emptied?")
	case err == nil:
		return &LostRankError{w.members[own].String(),
			fmt.Sprintf("is this one, and was taken for gone: its claim ended, which it had not renewed for %v: it was stopped, starved or cut off", silent.Round(time.Second/10))}
	case errors.Is(err, errRefused):
		return gone("refuses this rank: %v", err)
	case unanswered >= silence-beatPause/4 && w.failed > 0:
		return gone("has not answered for %v: %v", unanswered.Round(time.Second/10), err)
	}
	w.failed++
	return nil
}

// judge returns an error if a rank is gone, or else if one has stopped the run.
func (w *watcher) judge(ctx context.Context, claims [][]byte) (stopped *LostRankError) {
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
