package reports

// ThinkLocal and ThinkRemote draw the rate over the time between a release and the next request.
var (
	ThinkLocal = &Chart{
		Name:   "think",
		Title:  "What does the think time change?",
		Doc:    amountDoc,
		varies: byThink,
		draw:   drawEffect(byThink),
	}
	ThinkRemote = &Chart{
		Name:   "think-distributed",
		Title:  "What does the think time change for distributed locks?",
		Doc:    amountDoc,
		Remote: true,
		varies: byThink,
		draw:   drawEffect(byThink),
	}
)
