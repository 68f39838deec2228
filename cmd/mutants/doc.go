// Command mutants breaks the module's code in known ways, one at a time, and checks that
// the responsible test fails. The code on disk does not change: each mutant is an overlay
// of one test run. Results are added to build/mutants.txt, so that an interrupted run
// continues: a killed mutant is skipped until its file or its entry changes. It exits
// with 1 if a mutant survives, or no longer applies.
//
//	go run ./cmd/mutants [REGEXP]    # those whose DIR/NAME matches
//
// Entries are in testdata/mutants.txt of the package whose files they change:
//
//	# A comment describes the mutant.
//	mutant no-margin
//	file lease.go
//	test -run ^TestMargin$
//	 func reserve(span time.Duration) time.Duration {
//	-	return drift(span) + margin
//	+	return drift(span)
//
// The lines below "test" are a diff: the lines with a blank or a minus occur once in the file,
// one after another, and the lines with a blank or a plus replace them. "test" has the
// arguments of go test, without quotes; it runs in the directory of the package. A package at
// the end, such as ../zklock, is tested instead. The test must pass without the mutant.
package main
