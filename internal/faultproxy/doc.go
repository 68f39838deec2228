// Package faultproxy is a proxy between a client and one server. It passes whole messages,
// shows them to an observer, and on request loses, delays or withholds them or breaks
// connections.
//
//	p, err := faultproxy.New("127.0.0.1:2181", faultproxy.ZooKeeper, faultproxy.Options{})
//	...
//	defer p.Close()
//	lost := p.Inject(faultproxy.Fault{Do: faultproxy.LoseReply, Match: faultproxy.Op("create")})
//	// ... a client of p.Addr() creates a node ...
//	<-lost.Done() // the node exists, the client got no reply, and its connection is broken
//
// A [Framing] finds the limits of messages, their operation, and the request of each reply:
// [ZooKeeper] and [Redis]. Streams of another protocol, and encrypted ones, are passed on
// unread, with [Unread] all streams.
//
// # Limitations
//
// It works above TCP: a message is lost with its connection or to a black hole, never alone,
// and no message is reordered or duplicated. A connection closed by one side is closed on
// both, except through a black hole, by [Proxy.HalfClose] or after [Proxy.Forget].
//
// The kernel still acknowledges lost data and TCP keepalives, and completes the handshake of a
// connection to an unreachable server. So only timeouts of the programs themselves detect a
// fault; TCP's own timeouts never fire.
package faultproxy
