package reports

// Clients draws what it changes that workers share a connection or a session.
var Clients = &Chart{
	Name:   "clients-distributed",
	Title:  "What does sharing a client change for distributed locks?",
	Doc:    forestDoc,
	Remote: true,
	varies: byClients,
	draw:   drawEffect(byClients),
}
