package zksession

import (
	"context"
	"net"
	"sync"
	"time"
)

// names resolves the servers, whose addresses may change.
type names struct {
	servers []server
	find    func(ctx context.Context, host string) ([]string, error)
	open    context.Context // ends with Close
	work    sync.WaitGroup  // the lookups

	mu    sync.Mutex
	known map[string]*known // by host
}

type known struct {
	addrs []string      // of the latest success
	err   error         // of the latest lookup
	busy  chan struct{} // not nil during a lookup, and closed at its end
}

type target struct {
	server  server // as given
	address string // IP:port
	err     error  // why there is no address
}

// targets resolves all servers and returns their addresses. For a name whose lookup fails or
// takes longer than wait, it returns the previous addresses.
func (n *names) targets(wait time.Duration) (all []target) {
	ctx, cancel := context.WithTimeout(n.open, wait)
	defer cancel()
	for _, busy := range n.look() {
		select {
		case <-busy:
		case <-ctx.Done():
		}
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, s := range n.servers {
		if !s.named() {
			all = append(all, target{server: s, address: s.String()})
			continue
		}
		k := n.known[s.host]
		for _, addr := range k.addrs {
			all = append(all, target{server: s, address: net.JoinHostPort(addr, s.port)})
		}
		if len(k.addrs) == 0 {
			err := k.err
			if err == nil {
				err = &net.DNSError{Err: "no answer yet", Name: s.host, IsTimeout: true}
			}
			all = append(all, target{server: s, err: err})
		}
	}
	return all
}

// look starts lookups, one per name at a time, and returns channels that close at their ends.
func (n *names) look() (ends []<-chan struct{}) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, s := range n.servers {
		if !s.named() {
			continue
		}
		k := n.known[s.host]
		if k == nil {
			k = new(known)
			n.known[s.host] = k
		}
		if k.busy == nil {
			k.busy = make(chan struct{})
			n.work.Go(func() { n.lookUp(s.host, k) })
		}
		ends = append(ends, k.busy)
	}
	return ends
}

func (n *names) lookUp(host string, k *known) {
	addrs, err := n.find(n.open, host)
	n.mu.Lock()
	defer n.mu.Unlock()
	if k.err = err; len(addrs) > 0 {
		k.addrs = addrs
	}
	close(k.busy)
	k.busy = nil
}
