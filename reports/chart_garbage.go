package reports

// Garbage draws what a garbage collector at work in the window changes.
var Garbage = &Chart{
	Name:   "garbage",
	Title:  "What does garbage collection change?",
	Doc:    forestDoc,
	varies: byGarbage,
	draw:   drawEffect(byGarbage),
}
