package reports

// Delay draws what it changes how far away the servers are.
var Delay = &Chart{
	Name:   "delay-distributed",
	Title:  "What does the distance of the servers change for distributed locks?",
	Doc:    amountDoc,
	Remote: true,
	varies: byDelay,
	draw:   drawEffect(byDelay),
}
