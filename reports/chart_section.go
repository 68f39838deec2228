package reports

// Section draws what the data behind the lock changes.
var Section = &Chart{
	Name:   "section",
	Title:  "What does the data behind the lock change?",
	Doc:    forestDoc,
	varies: bySection,
	draw:   drawEffect(bySection),
}
