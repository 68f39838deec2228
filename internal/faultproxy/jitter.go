package faultproxy

import (
	"math/rand/v2"
	"time"
)

// A jitter is by how much messages are late at random.
type jitter struct {
	most time.Duration
	seed uint64
}

// Jitter makes each message of one direction arrive later by a time that is drawn
// uniformly from [0, most), on top of Delay, those that come from now on. They keep
// their order, so one that is late holds up those behind it. A connection's draws depend
// on the seed, its number and its messages so far, and not on other connections. 0 ends
// it.
func (p *Proxy) Jitter(d Direction, most time.Duration, seed uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.jitter[d] = jitter{most, seed}
	for k := range p.links {
		k.dice[d] = p.jitter[d].dice(k, d)
	}
}

// dice returns the draws for one direction of a connection, nil if there are none.
func (j jitter) dice(k *link, d Direction) *rand.Rand {
	if j.most <= 0 {
		return nil
	}
	return rand.New(rand.NewPCG(j.seed, uint64(k.number)<<1|uint64(d)))
}

// draw returns by how much the next message is late.
func (j jitter) draw(dice *rand.Rand) time.Duration {
	if dice == nil {
		return 0
	}
	return time.Duration(dice.Int64N(int64(j.most)))
}
