// Command mutants breaks the module's code in known ways, one at a time, and checks that
// the test that is to notice fails. The code on disk stays as it is: each mutant is an
// overlay of one test run. Results are added to build/mutants.txt, so that a run that was
// interrupted continues: a mutant that was killed is left out until its file or its entry
// changes. It exits with 1 if a mutant survives, or no longer applies.
//
//	go run ./cmd/mutants [-n] [REGEXP]    # those whose DIR/NAME matches; -n only lists them
//
// Entries are in testdata/mutants.txt of the package whose files they change:
//
//	# Comments, and what the mutant is, stand before it.
//	mutant no-margin
//	file lease.go
//	test -run ^TestMargin$
//	 func reserve(span time.Duration) time.Duration {
//	-	return drift(span) + margin
//	+	return drift(span)
//
// The lines below "test" are those of a diff: the lines with a blank or a minus are in the
// file, one after another and once, and the lines with a blank or a plus take their place.
// "test" has the arguments of go test, without quotes, which runs in the directory of the package. A
// package at the end, such as ../zklock, is another one. The test must pass without the
// mutant.
//
// Rank 0. It imports the standard library only.
package main
