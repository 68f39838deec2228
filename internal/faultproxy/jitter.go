package faultproxy

import (
	"math/rand/v2"
	"time"
)

type jitter struct {
	most time.Duration
	seed uint64
}

// Jitter delays each new message of one direction by a time drawn uniformly from [0, most), in
// addition to Delay. Messages keep their order, so a late one delays its successors. A
// connection's draws depend only on the seed, its number and its messages. 0 disables it.
func (p *Proxy) Jitter(d Direction, most time.Duration, seed uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.jitter[d] = jitter{most, seed}
	for k := range p.links {
		k.dice[d] = p.jitter[d].dice(k, d)
	}
}

func (j jitter) dice(k *link, d Direction) *rand.Rand {
	if j.most <= 0 {
		return nil
	}
	return rand.New(rand.NewPCG(j.seed, uint64(k.number)<<1|uint64(d)))
}

func (j jitter) draw(dice *rand.Rand) time.Duration {
	if dice == nil {
		return 0
	}
	return time.Duration(dice.Int64N(int64(j.most)))
}
