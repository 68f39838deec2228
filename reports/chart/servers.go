package chart

// Servers draws the effect of several servers per lock.
var Servers = &Chart{
	Name:   "servers-distributed",
	Title:  "What do more servers change for distributed locks?",
	Doc:    forestDoc,
	Remote: true,
	Varies: byServers,
	Draw:   drawEffect(byServers),
}

// Durable draws the effect of servers that force each write to disk.
var Durable = &Chart{
	Name:   "durable-distributed",
	Title:  "What do durable writes change for distributed locks?",
	Doc:    forestDoc,
	Remote: true,
	Varies: byDurable,
	Draw:   drawEffect(byDurable),
}

// TLS draws the effect of encryption between clients and servers.
var TLS = &Chart{
	Name:   "tls-distributed",
	Title:  "What does TLS change for distributed locks?",
	Doc:    forestDoc,
	Remote: true,
	Varies: byTLS,
	Draw:   drawEffect(byTLS),
}
