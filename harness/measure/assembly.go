package measure

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A claim claims a rank. It is short: each rank reads all of them once a second.
type claim struct {
	Nonce string // of the process
	Ranks int    // its number of ranks
	Host  string
	PID   int
}

// An assembly brings a rank to its group.
//
// Claims may remain from a killed run, so a full set of claims does not prove that all
// processes are there. Each process that sees a full set posts its description under a name
// derived from all claims. When all have done that, all have seen the same claims.
type assembly struct {
	*Ranks
	own  claim
	self []byte // description of this rank

	claims   []claim   // last seen, by rank; zero for a missing one
	changed  time.Time // when they last changed
	answered time.Time // when the server last did
	posts    [][]byte  // descriptions
}

const (
	firstPause = 2 * time.Millisecond
	lastPause  = 50 * time.Millisecond

	// linger is how long a rank that refuses the others stays, so that they learn why.
	linger = time.Second

	farewells = "left"
)

func longer(pause time.Duration) time.Duration { return min(pause*3/2, lastPause) }

func sleep(ctx context.Context, d time.Duration) bool {
	over, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	<-over.Done()
	return ctx.Err() == nil
}

func (g *Ranks) assemble(ctx context.Context, self Rank) error {
	self, err := self.complete(g.options.Rank)
	if err != nil {
		return err
	}
	a := &assembly{Ranks: g, own: claim{Nonce: rand.Text(), Ranks: g.options.Ranks, Host: self.Host, PID: self.PID}, answered: time.Now()}
	if a.self, err = json.Marshal(self); err == nil {
		g.meeting.value, err = json.Marshal(a.own)
	}
	if err != nil {
		return fmt.Errorf("measure: %w", err)
	}
	waiting, cancel := context.WithTimeout(ctx, g.options.Assemble)
	defer cancel()
	err = g.insist(waiting, a.step)
	switch {
	case err == nil:
	case ctx.Err() == nil && waiting.Err() != nil:
		return a.absent()
	default:
		return err
	}
	members, err := decode[Rank](g, a.posts)
	if err != nil {
		return err
	}
	g.same = !slices.ContainsFunc(members, func(m Rank) bool { return m.Clock != members[0].Clock })
	g.members = distinct(members)
	return sameBuild(members, self)
}

// step makes one step, and reports whether that was the last.
func (a *assembly) step(ctx context.Context) (done bool, err error) {
	values, err := a.meeting.beat(ctx, true)
	if err != nil {
		if time.Since(a.answered) > connectTime {
			err = a.meeting.unreachable(err)
		}
		return false, err
	}
	a.answered = time.Now()
	claims := make([]claim, len(values))
	for r, v := range values {
		_ = json.Unmarshal(v, &claims[r]) // a missing one is zero
	}
	if !slices.Equal(claims, a.claims) {
		a.claims, a.changed = claims, time.Now()
	}
	alike := func(c claim) bool { return c.Ranks == a.options.Ranks }
	if claims[a.options.Rank] == a.own && !slices.ContainsFunc(claims, func(c claim) bool { return !alike(c) }) {
		a.run, a.Ranks.claims = runOf(claims), values
	}
	if a.run != "" { // also if a claim has ended since: its rank may have posted before
		if a.posts, err = a.meeting.exchange(ctx, a.run, "members", a.self); err != nil {
			return false, err
		}
		if !slices.ContainsFunc(a.posts, func(p []byte) bool { return p == nil }) {
			return true, nil
		}
	}
	if err = a.conflict(); err != nil {
		sleep(ctx, linger)
	}
	return false, err
}

func runOf(claims []claim) string {
	h := sha256.New()
	for _, c := range claims {
		fmt.Fprintf(h, "%q\n", c.Nonce)
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}

// conflict returns an error if a live process has this rank, or another number of ranks.
// A dead process's claim expires, so claims that last longer are being renewed.
func (a *assembly) conflict() error {
	if time.Since(a.changed) < a.meeting.ttl+time.Second {
		return nil
	}
	o := a.options
	for r, c := range a.claims {
		switch {
		case c.Nonce == "" || c == a.own:
		case r == o.Rank:
			return usage("rank %d of job %s is taken by a live process: pid %d on host %s: give each rank a number of its own, or the run another job", r, o.Job, c.PID, c.Host)
		case c.Ranks != o.Ranks:
			return usage("%v counts %d ranks, this one, rank %d, %d: start all with the same number", Rank{Rank: r, Host: c.Host, PID: c.PID}, c.Ranks, o.Rank, o.Ranks)
		}
	}
	return nil
}

func (a *assembly) absent() error {
	o := a.options
	var missing []string
	for r, c := range a.claims {
		if r == o.Rank && c != a.own {
			return usage("rank %d of job %s was taken by pid %d on host %s for all of %v", r, o.Job, c.PID, c.Host, o.Assemble)
		}
		if c.Nonce == "" || a.run != "" && bytes.Equal(a.posts[r], nil) {
			missing = append(missing, strconv.Itoa(r))
		}
	}
	return usage("of the ranks 0 to %d these did not come within %v: %s", o.Ranks-1, o.Assemble, strings.Join(missing, ", "))
}
