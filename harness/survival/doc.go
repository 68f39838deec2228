// Package survival says what failures a lock survives, from the results of its
// scenarios alone: what was expected beside what was seen ([Judge]), with the bound
// that so many tries allow, the guarantees that follow ([Guarantees]), and all that in
// a sentence ([ClassOf]).
//
// Nothing here is concluded from what a lock claims: a guarantee that was not put to
// the test is "not tested".
//
// Rank 2. It imports harness, harness/stat and internal/numfmt.
package survival
