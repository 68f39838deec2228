package chart

// HoldLocal and HoldRemote draw the rate over the length of the critical section.
var (
	HoldLocal = &Chart{
		Name:   "hold",
		Title:  "What does the hold time change?",
		Doc:    amountDoc,
		Varies: byHold,
		Draw:   drawEffect(byHold),
	}
	HoldRemote = &Chart{
		Name:   "hold-distributed",
		Title:  "What does the hold time change for distributed locks?",
		Doc:    amountDoc,
		Remote: true,
		Varies: byHold,
		Draw:   drawEffect(byHold),
	}
)
