package chaos

import (
	"context"
	"time"

	"locklab/harness"
	"locklab/internal/faultproxy"
)

var cutScenarios = []*Scenario{holderCutOff, holderUnheard, holderDeaf, renewalsLost}

var toldAim = []Aim{{redisRecommended, harness.FaultAim{Figure: "margin", Quantile: 0, Least: true, Limit: 0, Text: "told before the next one enters"}}}

func cutOff(what string, cut func(s *Subject, w wire)) func(ctx context.Context, t *Try) {
	return func(ctx context.Context, t *Try) {
		hosts := t.Hosts(2)
		t.Each(func(s *Subject) {
			p := new(pair)
			var wires wire
			for range max(1, s.Variant.Traits.Permits) {
				w, wire := t.wired(ctx, hosts[0], s)
				p.holders, wires = append(p.holders, w), append(wires, wire...)
			}
			p.next = t.plain(ctx, hosts[1], s)
			p.begin(ctx, ordinary)
			t.Sleep(ctx, TTL/4+time.Duration(s.draw(t, int64(TTL/2))))
			s.Fault("%s", what)
			began := t.Now()
			cut(s, wires)
			wait, cancel := context.WithTimeout(ctx, 3*TTL)
			defer cancel()
			s.AwaitGrant(wait, began)
			t.Sleep(ctx, 100*time.Millisecond)
		})
	}
}

// draw returns a random number below n for a lock, determined by the seed. Try.Rand is
// not safe for concurrent use.
func (s *Subject) draw(t *Try, n int64) int64 {
	seed := t.Seed
	for _, c := range s.Variant.Name {
		seed = seed*31 + uint64(c)
	}
	return int64(seed>>1) % n
}

var leaseOver = []Expectation{
	{"redis-token", []harness.Harm{harness.Stall, harness.Stuck}, "it has no lease: the others wait for ever"},
	{".*", []harness.Harm{harness.Stall}, "the next client waits until the lease is over, and the holder is told before"},
}

var cutExpect = append([]Expectation{
	{"redis-redisson12", []harness.Harm{harness.Stall, harness.Stuck, harness.TwoHolders}, "it reckons its lease from the reply; a waiter that asks how long the lock is taken just when the lease is over takes the answer for never (B21)"},
	{"rueidislock.*", []harness.Harm{harness.Stall, harness.Stuck, harness.TwoHolders}, "its holder waits for the answer to a renewal until the time is over that it has asked for, half a lease too late; a waiter may miss the end of a key"},
}, leaseOver...)

var holderCutOff = &Scenario{
	Name:     "redis-holder-cut-off",
	Question: "Is a holder that is cut off told before the next client enters?",
	Fault:    "what the holder sends and what it is sent vanishes, and its connections stay open",
	Source:   "Gray & Cheriton 1989, Leases; Kleppmann 2016, How to do distributed locking",
	Locks:    redisKinds,
	Expect:   cutExpect,
	Deadline: 20 * time.Second,
	Prompt:   TTL / 4,
	Tries:    200, Short: 3,
	Aims: toldAim,
	Try: cutOff("holder cut off", func(_ *Subject, w wire) {
		w.each(func(p *faultproxy.Proxy) { p.Partition(true) })
	}),
}

var holderUnheard = &Scenario{
	Name:     "redis-holder-unheard",
	Question: "Is a holder whose requests do not arrive told before the next client enters?",
	Fault:    "what the holder sends vanishes, and its connections stay open",
	Source:   "one direction of redis-holder-cut-off",
	Locks:    redisKinds,
	Expect:   cutExpect,
	Deadline: 20 * time.Second,
	Prompt:   TTL / 4,
	Tries:    200,
	Aims:     toldAim,
	Try: cutOff("requests of the holder vanish", func(_ *Subject, w wire) {
		w.each(func(p *faultproxy.Proxy) { p.BlackHole(faultproxy.Request, true) })
	}),
}

var holderDeaf = &Scenario{
	Name:     "redis-holder-deaf",
	Question: "Is a holder that no answer reaches told before the next client enters, and does it stop renewing then?",
	Fault:    "what the servers answer the holder vanishes, and what it sends arrives",
	Source:   "the other direction of redis-holder-cut-off",
	Locks:    redisKinds,
	Expect:   cutExpect,
	Deadline: 20 * time.Second,
	Prompt:   TTL / 4,
	Tries:    200,
	Aims:     toldAim,
	Try: cutOff("answers to the holder vanish", func(_ *Subject, w wire) {
		w.each(func(p *faultproxy.Proxy) { p.BlackHole(faultproxy.Reply, true) })
	}),
}

var renewalsLost = &Scenario{
	Name:     "renewals-lost",
	Question: "Is a holder whose renewals fail told before the next client enters?",
	Fault:    "every request that names the lock is lost with its connection (RST), and all others pass, once the holder has the lock",
	Source:   "Redisson issues 1626, 3194, 3712: the watchdog stops and the holder goes on",
	Locks:    redisKinds,
	Expect:   cutExpect,
	Deadline: 20 * time.Second,
	Prompt:   TTL / 4,
	Tries:    200,
	Aims:     toldAim,
	Try: cutOff("renewals lost", func(s *Subject, w wire) {
		w.inject(faultproxy.Fault{Do: faultproxy.LoseRequest, Times: 1 << 30, Match: about(s)})
	}),
}
