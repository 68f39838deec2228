package chart

// WaitPolicy draws the effect of the wait policy, for locks that have a choice.
var WaitPolicy = &Chart{
	Name:   "wait-policy",
	Title:  "What does the wait policy change?",
	Doc:    forestDoc,
	Varies: byWait,
	Draw:   drawEffect(byWait),
}
