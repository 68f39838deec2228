package chart

// Delay draws the effect of the distance to the servers.
var Delay = &Chart{
	Name:   "delay-distributed",
	Title:  "What does the distance of the servers change for distributed locks?",
	Doc:    amountDoc,
	Remote: true,
	Varies: byDelay,
	Draw:   drawEffect(byDelay),
}
