package reports

// Servers draws what it changes that several servers keep a lock.
var Servers = &Chart{
	Name:   "servers-distributed",
	Title:  "What do more servers change for distributed locks?",
	Doc:    forestDoc,
	Remote: true,
	varies: byServers,
	draw:   drawEffect(byServers),
}

// Durable draws what it changes that servers force each write to disk.
var Durable = &Chart{
	Name:   "durable-distributed",
	Title:  "What do durable writes change for distributed locks?",
	Doc:    forestDoc,
	Remote: true,
	varies: byDurable,
	draw:   drawEffect(byDurable),
}

// TLS draws what it changes that clients and servers encrypt what they say.
var TLS = &Chart{
	Name:   "tls-distributed",
	Title:  "What does TLS change for distributed locks?",
	Doc:    forestDoc,
	Remote: true,
	varies: byTLS,
	draw:   drawEffect(byTLS),
}
