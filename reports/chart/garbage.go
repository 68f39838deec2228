package chart

// Garbage draws the effect of a garbage collector that runs in the window.
var Garbage = &Chart{
	Name:   "garbage",
	Title:  "What does garbage collection change?",
	Doc:    forestDoc,
	Varies: byGarbage,
	Draw:   drawEffect(byGarbage),
}
