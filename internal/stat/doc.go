// Package stat has the statistics of every figure that is printed or drawn: the median of
// the rounds of a case with its interval ([Summarize]), and the ratio of two cases
// measured in the same rounds ([Paired]) or separately ([Unpaired]). It also has
// corrections for several comparisons ([Level], [Holm]), and the bound for rare events
// ([UpperBound]). Nothing here assumes a distribution: intervals come from order
// statistics or counts, and each is the inversion of a test.
//
// Tests and distributions come from benchstat's library,
// github.com/aclements/go-moremath/stats, if it has them.
package stat
