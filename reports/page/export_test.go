package page

// CheckGolden and Update are for the tests that run experiments, which this
// package must not import.
var (
	CheckGolden = checkGolden
	Update      = update
)
