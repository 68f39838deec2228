package result

import (
	"slices"

	"locklab/harness"
	"locklab/harness/oracle"
	"locklab/internal/numfmt"
)

// A Strength orders the classes of guarantees.
type Strength int

// The strengths, the least first. A lock that got stuck or left something behind after
// the death of its holder is at most Weak.
const (
	Unknown  Strength = iota // nothing was tried
	Weak                     // partly tried, without any guarantee below
	Guarded                  // a resource that checks tokens is safe from a paused holder, until a failover
	Fenced                   // a resource that checks tokens is safe; a failover may let two hold it, or was not tested
	Tolerant                 // the loss of a server does not let two hold it; a paused holder may still write, or was not tested
	Strong                   // both of the above
)

var strengthNames = [...]string{"not tested", "weak", "guarded", "fenced", "failover", "strong"}

// MarshalText returns the name of s. The error is always nil.
func (s Strength) MarshalText() ([]byte, error) { return []byte(strengthNames[s]), nil }

// A Class is the guarantees of a lock, by observation.
type Class struct {
	Strength   Strength
	Guarantees map[Guarantee]GuaranteeStatus
	Tries      int
	Missed     []Aim // in any scenario

	// Sentence explains it to a reader without knowledge of locks, without a capital
	// or a full stop.
	Sentence string

	// Where describes when a lock of this class is enough, to follow the word
	// "where"; "" for a Strong one.
	Where string
}

// Lacks returns why the class does not have g, or "" if it has.
func (c Class) Lacks(g Guarantee) string {
	if s := c.Guarantees[g]; s.State != Held {
		return string(g) + " " + s.String()
	}
	return ""
}

// ClassOf returns the class of the named lock by the results rs.
func ClassOf(rs []*FaultResult, lock string) Class {
	w := witness{rs: ofLock(rs, lock), got: GuaranteesOf(rs, lock)}
	c := Class{Guarantees: w.got}
	for _, r := range w.rs {
		if r.Skipped == "" {
			c.Tries += max(0, r.Tries)
		}
		c.Missed = append(c.Missed, JudgeFault(r).Missed()...)
	}
	if c.Tries == 0 {
		c.Sentence, c.Where = "not tested for failures", "untested failures do no harm"
		return c
	}
	w.lock = w.rs[0].Lock
	c.Strength, c.Sentence, c.Where = w.strength(), w.sentence(), w.where()
	return c
}

type witness struct {
	lock Lock
	rs   []*FaultResult
	got  map[Guarantee]GuaranteeStatus
}

func (w witness) is(g Guarantee, s GuaranteeState) bool { return w.got[g].State == s }

func (w witness) broke(g Guarantee, h oracle.Anomaly) bool {
	return slices.Contains(w.got[g].Anomalies, h)
}

func (w witness) pause() GuaranteeStatus {
	failover := func(r *FaultResult) bool { return slices.Contains(r.Tests, Failover) }
	return status(slices.DeleteFunc(slices.Clone(w.rs), failover), Fencing)
}

func (w witness) oneServer() bool {
	return w.lock.Traits.Needs == harness.KindRedis && w.lock.Traits.Servers <= 1
}

func (w witness) strength() Strength {
	failover, fencing := w.is(Failover, Held), w.is(Fencing, Held)
	switch {
	case w.is(Recovery, Broken):
		return Weak
	case failover && fencing:
		return Strong
	case failover:
		return Tolerant
	case fencing:
		return Fenced
	case w.pause().State == Held:
		return Guarded
	}
	return Weak
}

func (w witness) sentence() string {
	text := w.core()
	switch {
	case w.broke(Recovery, oracle.Stuck):
		text += "; it may stay taken for ever after its holder or a waiter has died"
	case w.is(Recovery, Broken):
		text += "; a holder or waiter that dies leaves a key or a ticket behind"
	}
	if w.is(Ordered, Broken) {
		text += "; it does not keep the order that it claims"
	}
	return text
}

func (w witness) core() string {
	server, token := w.server(), w.token()
	twice := w.broke(Failover, oracle.TwoHolders)
	switch {
	case twice && w.is(Fencing, Held):
		return server + ", tokens still rise"
	case twice && !w.lock.Traits.Fenced && w.stale():
		return "no fencing: a failover or a pause may let two write"
	case twice && !w.lock.Traits.Fenced:
		return "no fencing: a failover may let two write"
	case w.is(Failover, Held) && w.is(Fencing, Held):
		return server + ", and " + token
	case w.is(Failover, Untested):
		return token + "; " + server
	}
	return server + "; " + token
}

func (w witness) server() string {
	one := ""
	if w.oneServer() {
		one = "one server: "
	}
	switch {
	case w.is(Failover, Held):
		return "tolerates the loss of a server without two holders"
	case w.broke(Failover, oracle.TwoHolders):
		return one + "a failover may give it away twice"
	case w.broke(Failover, oracle.Stuck):
		return one + "the loss of a server may leave it stuck"
	case w.is(Failover, Open):
		return one + "the loss of a server may let two hold it or leave it stuck, but no try showed that"
	}
	return "the loss of a server was not tested"
}

func (w witness) stale() bool { return slices.Contains(w.pause().Anomalies, oracle.StaleWrite) }

func (w witness) token() string {
	pause := w.pause()
	switch {
	case !w.lock.Traits.Fenced && w.stale():
		return "no fencing: a paused holder may still write"
	case !w.lock.Traits.Fenced:
		return "no fencing"
	case w.is(Fencing, Broken) && pause.State == Held:
		return "tokens refuse a paused holder, but may repeat after a failover"
	case w.is(Fencing, Broken):
		return "its tokens let a stale write pass"
	case pause.State == Held:
		return "tokens refuse a paused holder"
	case w.is(Fencing, Held):
		return "tokens rise"
	case w.is(Fencing, Open):
		return "its tokens may let a stale write pass, but no try showed that"
	}
	return "its tokens were not tested"
}

func (w witness) where() string {
	if w.strength() == Strong {
		return ""
	}
	var parts []string
	switch {
	case w.is(Failover, Held):
	case w.is(Failover, Untested):
		parts = append(parts, "the untested loss of a server does no harm")
	case (w.broke(Failover, oracle.TwoHolders) || w.is(Failover, Open)) && !w.oneServer():
		parts = append(parts, "two holders after the loss of a server do no harm")
	case w.oneServer() && w.strength() == Guarded:
		parts = append(parts, "one server without a replica is enough")
	case w.oneServer():
		parts = append(parts, "one server is enough")
	default:
		parts = append(parts, "a lock that gets stuck can be freed by hand")
	}
	switch pause := w.pause(); {
	case pause.State == Held || w.is(Fencing, Held):
		parts = append(parts, "the resource checks tokens")
	case w.lock.Traits.Fenced && pause.State == Untested:
		parts = append(parts, "the untested late write of a paused holder does no harm")
	default:
		parts = append(parts, "a late write of a paused holder does no harm")
	}
	if w.is(Recovery, Broken) {
		parts = append(parts, "an operator can clean up after a crash")
	}
	return numfmt.List(parts, len(parts))
}

// strengthTexts describe the ability of one lock and of several locks of each strength.
var strengthTexts = [...][2]string{
	Unknown:  {"was not tested for failures", "were not tested for failures"},
	Weak:     {"was tested and gave neither guarantee", "were tested and gave neither guarantee"},
	Guarded:  {"is safe from a paused holder if the resource checks tokens, until a failover", "are safe from a paused holder if the resource checks tokens, until a failover"},
	Fenced:   {"is safe if the resource checks tokens", "are safe if the resource checks tokens"},
	Tolerant: {"tolerates the loss of a server without two holders", "tolerate the loss of a server without two holders"},
	Strong:   {"tolerates the loss of a server without two holders, with tokens that refuse a paused holder", "tolerate the loss of a server without two holders, with tokens that refuse a paused holder"},
}

// Of describes the ability of n locks of that strength, to follow "locks that".
func (s Strength) Of(n int) string {
	return numfmt.Choose(n, strengthTexts[s][0], strengthTexts[s][1])
}
