package chart

// Clients draws the effect of sharing a connection or session between workers.
var Clients = &Chart{
	Name:   "clients-distributed",
	Title:  "What does sharing a client change for distributed locks?",
	Doc:    forestDoc,
	Remote: true,
	Varies: byClients,
	Draw:   drawEffect(byClients),
}
