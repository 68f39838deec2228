package faultproxy

import (
	"slices"
	"sync"
	"time"
)

// An Action is the effect of a Fault on a request.
type Action string

// The actions. Those with a loss break the connection: the client sees a reset.
const (
	// LoseReply lets the server execute the request and loses its reply.
	LoseReply Action = "reply lost"

	// LoseRequest breaks the connection before the server receives the request.
	LoseRequest Action = "request lost"

	// HoldBack delays the request and later data by Fault.By, in addition to Proxy.Delay, also
	// if the client has closed.
	HoldBack Action = "request held back"
)

// A Fault waits for its request. The zero value loses the reply to the next request.
type Fault struct {
	Do    Action             // "" is LoseReply
	By    time.Duration      // for HoldBack
	Match func(Message) bool // nil matches all, see Op
	Skip  int                // number of matching requests that pass first
	Times int                // number of hits after that; 0 is 1
}

// An Injection is an active Fault.
type Injection struct {
	p     *Proxy
	fault Fault
	left  int // remaining hits
	once  sync.Once
	done  chan struct{}
}

// Inject activates f. Of several faults that match a request, only the oldest counts it.
func (p *Proxy) Inject(f Fault) *Injection {
	i := &Injection{p: p, fault: f, left: max(f.Times, 1), done: make(chan struct{})}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.faults = append(p.faults, i)
	return i
}

// Done returns a channel that is closed at the first hit.
func (i *Injection) Done() <-chan struct{} { return i.done }

// Remove cancels the remaining hits. It is safe to call twice.
func (i *Injection) Remove() {
	i.p.mu.Lock()
	defer i.p.mu.Unlock()
	i.p.drop(i)
}

func (i *Injection) hit() { i.once.Do(func() { close(i.done) }) }

func (p *Proxy) drop(i *Injection) {
	p.faults = slices.DeleteFunc(p.faults, func(j *Injection) bool { return i == j })
}

// struck returns the fault that hits m, or nil. The caller holds p.mu.
func (p *Proxy) struck(m Message) *Injection {
	for _, i := range p.faults {
		switch {
		case i.fault.Match != nil && !i.fault.Match(m):
			continue
		case i.fault.Skip > 0:
			i.fault.Skip--
			continue
		}
		if i.left--; i.left == 0 {
			p.drop(i)
		}
		return i
	}
	return nil
}
