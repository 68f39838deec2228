package chart

// The charts of the effects: what another value of one axis of the workload changes.
var (
	Pinning               = effectOf("pinning", "What does pinning change?", ByPin)
	WaitPolicy            = effectOf("wait-policy", "What does the wait policy change?", byWait)
	Garbage               = effectOf("garbage", "What does garbage collection change?", byGarbage)
	Section               = effectOf("section", "What does the data behind the lock change?", bySection)
	Spread                = effectOf("spread", "What does the number of locks change?", byLocks)
	HoldLocal, HoldRemote = both(*effectOf("hold", "What does the hold time change?", byHold),
		"What does the hold time change for distributed locks?")
	ReadLocal, ReadRemote = both(*effectOf("read", "What does the share of reads change?", byReads),
		"What does the share of reads change for distributed locks?")
	ThinkLocal, ThinkRemote = both(*effectOf("think", "What does the think time change?", byThink),
		"What does the think time change for distributed locks?")
	Clients = remote(effectOf("clients", "What does sharing a client change for distributed locks?", byClients))
	Servers = remote(effectOf("servers", "What do more servers change for distributed locks?", byServers))
	Durable = remote(effectOf("durable", "What do durable writes change for distributed locks?", byDurable))
	TLS     = remote(effectOf("tls", "What does TLS change for distributed locks?", byTLS))
	Delay   = remote(effectOf("delay", "What does the distance of the servers change for distributed locks?", byDelay))
)

func effectOf(name, title string, d *dimension) *Chart {
	return &Chart{Name: name, Title: title, Doc: effectDoc, Varies: d, Draw: drawEffect(d)}
}

func both(c Chart, title string) (local, distributed *Chart) {
	d := c
	d.Title = title
	return &c, remote(&d)
}

func remote(c *Chart) *Chart {
	c.Name, c.Remote = c.Name+"-distributed", true
	return c
}
