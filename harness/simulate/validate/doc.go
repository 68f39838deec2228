// Package validate sets what package simulate expects of locks beside what others
// have measured and published, and says how far the two are apart.
//
// The published medians are in testdata, with their sources and licences. The locks
// that were measured are in C; twins of them in Go run on the modelled machines, in a
// build with the tags systematic and simulate. [Accuracy] is in every build: it has
// the results of the comparison from a small file, which a test compares with what
// the model says now.
//
// Rank 3. It imports atomics, harness, harness/stat and harness/simulate.
package validate
