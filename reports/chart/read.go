package chart

// ReadLocal and ReadRemote draw the rate over the share of turns that only read.
var (
	ReadLocal = &Chart{
		Name:   "read",
		Title:  "What does the share of reads change?",
		Doc:    amountDoc,
		Varies: byReads,
		Draw:   drawEffect(byReads),
	}
	ReadRemote = &Chart{
		Name:   "read-distributed",
		Title:  "What does the share of reads change for distributed locks?",
		Doc:    amountDoc + " Rates are acquisitions, because readers hand nothing over.",
		Remote: true,
		Varies: byReads,
		Draw:   drawEffect(byReads),
	}
)
