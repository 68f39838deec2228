package chart

// Section draws the effect of the data that the lock guards.
var Section = &Chart{
	Name:   "section",
	Title:  "What does the data behind the lock change?",
	Doc:    forestDoc,
	Varies: bySection,
	Draw:   drawEffect(bySection),
}
