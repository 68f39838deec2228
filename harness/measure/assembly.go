package measure

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
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

func newClaim(m Rank, ranks int) claim {
	return claim{Nonce: rand.Text(), Ranks: ranks, Host: m.Host, PID: m.PID}
}

func parseClaim(value []byte) (claim, error) {
	var c claim
	if err := json.Unmarshal(value, &c); err != nil || c.Nonce == "" {
		return claim{}, fmt.Errorf("measure: %.80q is no claim of a rank", value)
	}
	return c, nil
}

func (c claim) member(rank int) Rank { return Rank{Rank: rank, Host: c.Host, PID: c.PID} }

// An assembly brings a rank to its group.
//
// Claims may remain from a killed run, so a full set of claims does not prove that all
// processes are there. Each process that sees a full set posts a hello under a name
// derived from all claims. When all have done that, all have seen the same claims.
type assembly struct {
	options RankOptions
	at      address
	board   *board
	own     claim
	run     string // "" before all claims were seen

	claimed  bool
	answered time.Time     // when the server last did
	seen     map[int]sight // claims of others, by rank
	greeted  [][]byte      // hellos of the run
	first    map[int]Rank  // others seen at least once
}

type sight struct {
	claim
	since time.Time
}

const (
	firstPause = 2 * time.Millisecond
	lastPause  = 50 * time.Millisecond

	// linger is how long a rank that refuses the others stays, so that they learn why.
	linger = time.Second

	hellos    = "hello"
	farewells = "left"
)

func longer(pause time.Duration) time.Duration { return min(pause*3/2, lastPause) }

func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}

func (a *assembly) meet(ctx context.Context) (run string, claims []claim, err error) {
	a.seen, a.first = make(map[int]sight), make(map[int]Rank)
	a.answered = time.Now()
	until := time.Now().Add(a.options.Assemble)
	for pause := firstPause; ; pause = longer(pause) {
		claims, err := a.step(ctx)
		switch {
		case ctx.Err() != nil:
			return "", nil, context.Cause(ctx)
		case err == nil && claims != nil:
			return a.run, claims, nil
		case errors.Is(err, errRefused):
			return "", nil, unreachableSync(a.at, err)
		case err == nil || errors.Is(err, errClaim):
			a.answered = time.Now()
		case time.Since(a.answered) > connectTime:
			return "", nil, unreachableSync(a.at, err)
		}
		if err := a.conflict(); err != nil {
			a.stay(ctx)
			return "", nil, err
		}
		if time.Now().After(until) {
			return "", nil, a.absent()
		}
		sleep(ctx, pause)
	}
}

func (a *assembly) stay(ctx context.Context) {
	for until := time.Now().Add(linger); time.Now().Before(until) && sleep(ctx, lastPause); {
		if _, err := a.board.beat(ctx, ""); err != nil {
			return
		}
	}
}

// step makes one step, and returns all claims if that was the last.
func (a *assembly) step(ctx context.Context) ([]claim, error) {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	if !a.claimed {
		value, err := json.Marshal(a.own)
		if err != nil {
			return nil, err
		}
		taken, holder, err := a.board.claim(ctx, value)
		if err != nil {
			return nil, err
		}
		if taken {
			a.note(a.options.Rank, holder)
			return nil, nil
		}
		a.claimed = true
		delete(a.seen, a.options.Rank)
	}
	values, err := a.board.beat(ctx, a.run)
	if err != nil {
		if errors.Is(err, errClaim) { // if the server was emptied, the hello is gone as well
			a.claimed, a.run, a.greeted = false, "", nil
		}
		return nil, err
	}
	claims := a.look(values)
	if claims == nil {
		a.run, a.greeted = "", nil
		return nil, nil
	}
	return claims, a.greet(ctx, &claims)
}

func (a *assembly) look(values [][]byte) []claim {
	all := make([]claim, len(values))
	complete := true
	for r, v := range values {
		if r == a.options.Rank {
			all[r] = a.own
			continue
		}
		a.note(r, v)
		all[r] = a.seen[r].claim
		complete = complete && all[r].Nonce != "" && all[r].Ranks == a.options.Ranks
	}
	if !complete {
		return nil
	}
	return all
}

func (a *assembly) note(rank int, value []byte) {
	c, err := parseClaim(value)
	if err != nil {
		if value == nil {
			delete(a.seen, rank)
			return
		}
		c = claim{Nonce: string(value), Host: "unknown"} // of another version: it does not count
	}
	if a.seen[rank].Nonce != c.Nonce {
		a.seen[rank] = sight{c, time.Now()}
	}
	a.first[rank] = c.member(rank)
}

// greet posts the hello of the run of claims, and sets them to nil unless all have.
func (a *assembly) greet(ctx context.Context, claims *[]claim) error {
	all := *claims
	*claims = nil
	if run := runOf(all); run != a.run {
		if err := a.board.post(ctx, run, hellos, []byte{'!'}); err != nil {
			return err
		}
		a.run = run
	}
	greeted, err := a.board.read(ctx, a.run, hellos)
	if err != nil {
		return err
	}
	a.greeted = greeted
	for _, hello := range greeted {
		if hello == nil {
			return nil
		}
	}
	*claims = all
	return nil
}

func runOf(claims []claim) string {
	h := sha256.New()
	for _, c := range claims {
		fmt.Fprintf(h, "%q\n", c.Nonce)
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}

// conflict returns an error if a live process has this rank, or another number of ranks.
// A dead process's claim expires, so a claim that stays longer is being renewed.
func (a *assembly) conflict() error {
	for r := range a.options.Ranks {
		s, ok := a.seen[r]
		switch {
		case !ok || time.Since(s.since) < a.board.expiry():
		case r == a.options.Rank && !a.claimed:
			return usage("rank %d of job %s is taken by a process that lives: pid %d on host %s: give each rank a number of its own, or the run another job", r, a.options.Job, s.PID, s.Host)
		case s.Ranks != a.options.Ranks:
			return usage("%v counts %d ranks, this one, rank %d, %d: start all with the same number", s.member(r), s.Ranks, a.options.Rank, a.options.Ranks)
		}
	}
	return nil
}

func (a *assembly) absent() error {
	o := a.options
	if !a.claimed {
		holder := "another process"
		if s, ok := a.seen[o.Rank]; ok {
			holder = fmt.Sprintf("pid %d on host %s", s.PID, s.Host)
		}
		return usage("rank %d of job %s was taken by %s for all of %v", o.Rank, o.Job, holder, o.Assemble)
	}
	var missing []int
	gone := ""
	for r := range o.Ranks {
		_, here := a.seen[r]
		silent := a.run != "" && r < len(a.greeted) && bytes.Equal(a.greeted[r], nil)
		if r == o.Rank || here && !silent {
			continue
		}
		missing = append(missing, r)
		if m, ok := a.first[r]; ok && !here {
			gone += fmt.Sprintf("; %v was there, and is gone", m)
		}
	}
	if missing == nil {
		return usage("the ranks did not agree on who is there within %v", o.Assemble)
	}
	return usage("%s of %d did not come within %v%s", numbered(missing), o.Ranks, o.Assemble, gone)
}

func numbered(ranks []int) string {
	if len(ranks) == 1 {
		return "rank " + strconv.Itoa(ranks[0])
	}
	texts := make([]string, len(ranks))
	for i, r := range ranks {
		texts[i] = strconv.Itoa(r)
	}
	return "ranks " + strings.Join(texts, ", ")
}
