// Package validate compares the predictions of package simulate with published
// measurements of others, and reports the differences.
//
// The published medians are in testdata, with their sources and licences. The measured
// locks are in C. Their Go twins run on the modelled machines, in a build with the tags
// systematic and simulate. [Accuracy] is in every build: it reads the results of the
// comparison from a small file, which a test compares with the current model.
package validate
