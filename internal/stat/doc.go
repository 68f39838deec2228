// Package stat has the statistics of every figure: the median of a case's rounds with its
// interval ([Summarize]), the ratio of two cases measured in the same rounds ([Paired]) or
// separately ([Unpaired]), corrections for several comparisons ([Level], [Holm]), and the
// bound for rare events ([UpperBound]). Each interval is the inversion of a test; only
// [Paired] assumes something: ratios of equal cases lie symmetrically around 1. Tests come from
// github.com/aclements/go-moremath/stats, if it has them.
package stat
