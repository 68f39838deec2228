// Package survival determines the failures that a lock tolerates, from the results of its
// scenarios alone. It compares expectations with observations ([Judge]), with the bound
// that the number of tries allows. From these follow the guarantees ([Guarantees]), and a
// summary in a sentence ([ClassOf]).
//
// Claims of a lock do not count: an untested guarantee is "not tested".
//
// Rank 2. It imports harness, harness/stat and internal/numfmt.
package survival
