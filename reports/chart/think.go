package chart

// ThinkLocal and ThinkRemote draw the rate over the time between a release and the next request.
var (
	ThinkLocal = &Chart{
		Name:   "think",
		Title:  "What does the think time change?",
		Doc:    amountDoc,
		Varies: byThink,
		Draw:   drawEffect(byThink),
	}
	ThinkRemote = &Chart{
		Name:   "think-distributed",
		Title:  "What does the think time change for distributed locks?",
		Doc:    amountDoc,
		Remote: true,
		Varies: byThink,
		Draw:   drawEffect(byThink),
	}
)
