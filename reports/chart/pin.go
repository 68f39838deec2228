package chart

// Pinning draws the effect of binding workers to threads and to processors.
var Pinning = &Chart{
	Name:   "pinning",
	Title:  "What does pinning change?",
	Doc:    forestDoc,
	Varies: ByPin,
	Draw:   drawEffect(ByPin),
}
