package reports

// WaitPolicy draws what another way of waiting changes, for locks that have a choice.
var WaitPolicy = &Chart{
	Name:   "wait-policy",
	Title:  "What does the wait policy change?",
	Doc:    forestDoc,
	varies: byWait,
	draw:   drawEffect(byWait),
}
