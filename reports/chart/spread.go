package chart

// Spread draws the rate over the number of locks that the workers use.
var Spread = &Chart{
	Name:   "spread",
	Title:  "What does the number of locks change?",
	Doc:    amountDoc,
	Varies: byLocks,
	Draw:   drawEffect(byLocks),
}
