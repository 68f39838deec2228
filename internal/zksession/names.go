package zksession

import (
	"context"
	"net"
	"slices"
	"sync"
	"time"
)

// names resolves the servers, whose addresses may change.
type names struct {
	servers []server
	find    func(ctx context.Context, host string) ([]string, error)
	open    context.Context // ends with Close
	known   [][]string      // addresses of each server by the latest lookup that succeeded
}

type target struct {
	server  server // as given
	address string // IP:port
	err     error  // why there is no address
}

// lookupWait limits the lookups while no server has an address.
const lookupWait = 10 * time.Second

// targets resolves all servers and returns their addresses. For a name whose lookup fails or
// takes longer than wait, it returns the previous addresses. It waits longer while no server
// has an address. It must not be called concurrently.
func (n *names) targets(wait time.Duration) (all []target) {
	for i, s := range n.servers {
		if !s.named() {
			n.known[i] = []string{s.host}
		}
	}
	if len(slices.Concat(n.known...)) == 0 {
		wait = max(wait, lookupWait)
	}
	ctx, cancel := context.WithTimeout(n.open, wait)
	defer cancel()
	errs := make([]error, len(n.servers))
	var work sync.WaitGroup
	for i, s := range n.servers {
		if s.named() {
			work.Go(func() { errs[i] = n.lookUp(ctx, i) })
		}
	}
	work.Wait()
	for i, s := range n.servers {
		for _, addr := range n.known[i] {
			all = append(all, target{server: s, address: net.JoinHostPort(addr, s.port)})
		}
		if len(n.known[i]) == 0 {
			all = append(all, target{server: s, err: errs[i]})
		}
	}
	return all
}

func (n *names) lookUp(ctx context.Context, i int) error {
	addrs, err := n.find(ctx, n.servers[i].host)
	if len(addrs) > 0 {
		n.known[i] = addrs
	} else if err == nil {
		err = &net.DNSError{Err: "no address", Name: n.servers[i].host}
	}
	return err
}
