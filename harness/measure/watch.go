package measure

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

// A LostRankError ends a run without some ranks, or without their server.
type LostRankError struct {
	Members []Rank // the ranks that are gone, in order; nil if it is the server
	Server  string // the server that is gone, without credentials; "" if ranks are
	Why     string
}

func (e *LostRankError) Error() string {
	if e.Server != "" {
		return fmt.Sprintf("measure: %s, where the ranks meet, %s", e.Server, e.Why)
	}
	names := make([]string, len(e.Members))
	for i, m := range e.Members {
		names[i] = m.String()
	}
	return fmt.Sprintf("measure: %s %s", strings.Join(names, ", "), e.Why)
}

const (
	beatPause = time.Second

	quickPause = 250 * time.Millisecond // while a rank is missing

	// silence is how long the server may not answer.
	silence = 6 * time.Second
)

type watcher struct {
	*Ranks
	answered time.Time // time of the server's last answer
	failed   int       // requests since then
	missed   time.Time // when a rank was first missing, zero if all are there
}

func (g *Ranks) watch(ctx context.Context) {
	defer close(g.watcher.done)
	w := &watcher{Ranks: g, answered: time.Now()}
	pause := beatPause
	for sleep(ctx, pause) {
		if lost := w.look(ctx); lost != nil {
			if ctx.Err() != nil {
				return
			}
			g.cancel(lost)
			// The claim stays, so that the others see it and the farewell, until it expires.
			return
		}
		pause = beatPause
		if !w.missed.IsZero() {
			pause = quickPause
		}
	}
}

func (w *watcher) look(ctx context.Context) *LostRankError {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	silent := time.Since(w.answered)
	claims, err := w.board.beat(ctx, w.run)
	if err == nil {
		w.answered, w.failed = time.Now(), 0
		return w.judge(ctx, claims)
	}
	w.failed++
	unanswered := time.Since(w.answered)
	switch {
	case errors.Is(err, errClaim) && silent < silence-2*beatPause:
		return &LostRankError{Server: w.at.String(), Why: "has lost what this run had there: was it restarted or emptied?"}
	case errors.Is(err, errClaim):
		return &LostRankError{Members: w.members[w.options.Rank : w.options.Rank+1],
			Why: fmt.Sprintf("is this one, and was taken for gone: its claim ended, which it had not renewed for %v: it was stopped, starved or cut off", silent.Round(time.Second/10))}
	case errors.Is(err, errRefused):
		return &LostRankError{Server: w.at.String(), Why: fmt.Sprintf("refuses this rank: %v", err)}
	case unanswered >= silence-quickPause && w.failed > 1:
		return &LostRankError{Server: w.at.String(), Why: fmt.Sprintf("has not answered for %v: %v", unanswered.Round(time.Second/10), err)}
	}
	return nil
}

func (w *watcher) judge(ctx context.Context, claims [][]byte) *LostRankError {
	missing := w.missing(claims)
	if len(missing) == 0 {
		w.missed = time.Time{}
		return nil
	}
	said, err := w.board.read(ctx, w.run, farewells)
	if err != nil {
		return nil // the next look
	}
	var gone []Rank
	var stopped *LostRankError
	for _, r := range missing {
		switch {
		case said[r] == nil:
			gone = append(gone, w.members[r])
		case len(said[r]) == 0:
			w.leaves(r)
		case stopped == nil:
			stopped = &LostRankError{Members: w.members[r : r+1], Why: "has stopped the run: " + string(said[r])}
		}
	}
	switch {
	case gone == nil:
		return stopped
	case w.missed.IsZero():
		w.missed = time.Now()
		return nil
	case time.Since(w.missed) < claimSpread:
		return nil
	}
	verb := "is"
	if len(gone) > 1 {
		verb = "are"
	}
	return &LostRankError{Members: gone, Why: verb + " gone: killed, stopped or cut off"}
}

func (w *watcher) missing(claims [][]byte) []int {
	var out []int
	for r, value := range claims {
		c, err := parseClaim(value)
		if (err != nil || c.Nonce != w.nonces[r]) && !w.hasLeft(r) {
			out = append(out, r)
		}
	}
	return out
}

func (g *Ranks) leaves(rank int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.left[rank] = true
}

func (g *Ranks) hasLeft(rank int) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.left[rank]
}
