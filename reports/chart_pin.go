package reports

// Pinning draws what binding workers to threads and to processors changes.
var Pinning = &Chart{
	Name:   "pinning",
	Title:  "What does pinning change?",
	Doc:    forestDoc,
	varies: byPin,
	draw:   drawEffect(byPin),
}
