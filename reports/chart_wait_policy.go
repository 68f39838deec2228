package reports

// WaitPolicy draws the effect of the wait policy, for locks that have a choice.
var WaitPolicy = &Chart{
	Name:   "wait-policy",
	Title:  "What does the wait policy change?",
	Doc:    forestDoc,
	varies: byWait,
	draw:   drawEffect(byWait),
}
