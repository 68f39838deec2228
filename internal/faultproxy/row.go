package faultproxy

import "time"

// A Row is a proxy in front of each address of some servers.
type Row struct {
	Addrs   [][]string // of the proxies, by server
	Proxies []*Proxy   // in that order
}

// NewRow starts a proxy in front of each address in to, by server. The caller closes it.
func NewRow(to [][]string, framing func() Framing, options func(server int) Options) (*Row, error) {
	r := new(Row)
	for server, list := range to {
		var addrs []string
		for _, addr := range list {
			p, err := New(addr, framing, options(server))
			if err != nil {
				r.Close()
				return nil, err
			}
			r.Proxies = append(r.Proxies, p)
			addrs = append(addrs, p.Addr())
		}
		r.Addrs = append(r.Addrs, addrs)
	}
	return r, nil
}

// Delay makes each round trip longer by d.
func (r *Row) Delay(d time.Duration) {
	for _, p := range r.Proxies {
		p.Delay(Request, d/2)
		p.Delay(Reply, d-d/2)
	}
}

// Close closes the proxies. The error is always nil.
func (r *Row) Close() error {
	for _, p := range r.Proxies {
		p.Close()
	}
	return nil
}
