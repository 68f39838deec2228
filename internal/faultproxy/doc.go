// Package faultproxy is the network between a client and one server, with a
// hand on the cable: it passes whole messages, shows them to an observer, and
// on request loses, delays or withholds them or breaks connections.
//
//	p, err := faultproxy.New("127.0.0.1:2181", faultproxy.ZooKeeper, faultproxy.Options{})
//	...
//	defer p.Close()
//	lost := p.Inject(faultproxy.Fault{Do: faultproxy.LoseReply, Match: faultproxy.Op("create")})
//	// ... a client of p.Addr() creates a node ...
//	<-lost.Done() // the node is there, the client was not told, and its connection is broken
//
// A [Framing] tells it where messages begin and end, what they ask for, and
// which reply belongs to which request: [ZooKeeper] and [Redis]. Streams of
// another protocol, or encrypted ones, are passed on unread, and with [Unread] all.
//
// # What it cannot do
//
// It sits above TCP: a message is lost with its connection or to a black hole,
// never alone, and none is reordered or doubled. A connection closed by one
// side is closed on both, but through a black hole, by [Proxy.HalfClose] or after
// [Proxy.Forget].
//
// What vanishes is acknowledged all the same, by the kernel, and so are TCP keepalives
// and the handshake of a connection to a server that cannot be reached: only timeouts
// of the programs themselves find out, and TCP's own never strike.
//
// Rank 1. It imports the standard library and golang.org/x/sys/unix.
package faultproxy
