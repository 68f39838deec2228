package reports

// Read draws the rate over the share of turns that only read.
var Read = &Chart{
	Name:   "read",
	Title:  "What does the share of reads change?",
	Doc:    amountDoc,
	varies: byReads,
	draw:   drawEffect(byReads),
}
