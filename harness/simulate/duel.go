//go:build systematic && simulate

package simulate

import (
	"fmt"
	"io"
)

// Duel writes to out, step by step, how hardware threads a and b compare and swap one word in
// the same instant, with a copy of its line in each cache. The last sentence names the winner
// and the deciding rule. It returns an error if m has no such threads, or if a write fails.
func Duel(m *Machine, a, b int, seed uint64, out io.Writer) error {
	if n := m.Threads(); a == b || min(a, b) < 0 || max(a, b) >= n {
		return fmt.Errorf("simulate: a duel of threads %d and %d: want two of 0 to %d", a, b, n-1)
	}
	d := duel{s: newSim(m, seed), threads: [2]int{a, b}}
	d.s.log = out
	var ball cell
	for i, thread := range d.threads {
		d.s.newCore(i, thread, func(c *core) {
			c.spend(int64(i) * duelInstant / 2)
			ball.v.Load()
			c.clock = duelInstant
			won := ball.v.CompareAndSwap(0, uint64(i)+1)
			if d.done[i] = c.clock; won {
				d.winner = i
			}
		})
	}
	d.s.note("contender 0 is core 0, on hardware thread %d, contender 1 is core 1, on thread %d; both read the word, which is 0", a, b)
	d.s.simulate()
	if d.s.failure != nil {
		return d.s.failure
	}
	_, err := fmt.Fprintln(out, d.sentence(ball.v.Load()))
	return err
}

const duelInstant = 1_000_000

type duel struct {
	s       *sim
	threads [2]int
	winner  int
	done    [2]int64 // ps
}

func (d *duel) sentence(word uint64) string {
	w, l := d.winner, 1-d.winner
	return fmt.Sprintf("Contender %d wins: %s; its CompareAndSwap is done after %.1f ns and leaves %d, that of contender %d finds %d instead of 0 and fails after %.1f ns.",
		w, d.rule(), float64(d.done[w]-duelInstant)/1000, word, l, word, float64(d.done[l]-duelInstant)/1000)
}

func (d *duel) rule() string {
	s := d.s
	w, l := s.cores[d.winner], s.cores[1-d.winner]
	home := s.order[0].home
	switch {
	case w.cache == l.cache:
		return "both have the line in one cache, which lets one locked instruction at a time use it"
	case s.socket(w.cache) == home && s.socket(l.cache) != home:
		return "the directory grants the line to one contender at a time, and of two in one instant the request from its own socket is there first"
	}
	return "the directory grants the line to one contender at a time, first come, first served, and of two that are as near to it in one instant the model takes that with the lower number, where a machine may take either"
}

func (s *sim) note(format string, args ...any) {
	if s.log != nil {
		fmt.Fprintf(s.log, format+"\n", args...)
	}
}
