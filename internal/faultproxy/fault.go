package faultproxy

import (
	"slices"
	"sync"
	"time"
)

// An Action is what a Fault does to a request.
type Action int

// The actions. Those that lose something break the connection: the client sees a reset.
const (
	// LoseReply lets the server do what it is asked and loses its answer.
	LoseReply Action = iota

	// LoseRequest breaks the connection before the server hears the request.
	LoseRequest

	// HoldBack lets the request, and what its connection sends behind it, arrive
	// Fault.By later, also if the client has closed the connection meanwhile.
	HoldBack
)

func (a Action) String() string {
	switch a {
	case LoseRequest:
		return "request lost"
	case HoldBack:
		return "request held back"
	}
	return "reply lost"
}

// A Fault is an accident that waits for its request. The zero value loses the
// reply to the next one.
type Fault struct {
	Do    Action
	By    time.Duration      // of HoldBack
	Match func(Message) bool // which requests; nil is all, see Op and Below
	Skip  int                // so many matching requests pass first
	Times int                // so many are then hit; 0 is 1
}

// An Injection is a Fault in place.
type Injection struct {
	p     *Proxy
	fault Fault
	left  int // hits to come
	once  sync.Once
	done  chan struct{}
}

// Inject puts f in place. Of several that match a request the oldest hits, and
// the others do not count it.
func (p *Proxy) Inject(f Fault) *Injection {
	i := &Injection{p: p, fault: f, left: max(f.Times, 1), done: make(chan struct{})}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.faults = append(p.faults, i)
	return i
}

// Done is closed when the fault has hit for the first time: the connection is
// broken, or the request is held back.
func (i *Injection) Done() <-chan struct{} { return i.done }

// Remove takes back what has not hit yet. It is safe to call twice.
func (i *Injection) Remove() {
	i.p.mu.Lock()
	defer i.p.mu.Unlock()
	i.p.drop(i)
}

func (i *Injection) hit() { i.once.Do(func() { close(i.done) }) }

func (p *Proxy) drop(i *Injection) {
	p.faults = slices.DeleteFunc(p.faults, func(j *Injection) bool { return i == j })
}

// struck returns the fault that hits m, if one does. The caller holds p.mu.
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
