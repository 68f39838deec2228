// Package stat holds the statistics of every figure that is printed or drawn:
// the median of the rounds of a case with its interval ([Summarize]), the ratio
// of two cases that were measured in the same rounds ([Paired]) or apart
// ([Unpaired]), what it takes to read several of them together ([Level], [Holm]),
// and how often a thing may happen that few or no tries showed ([UpperBound]).
// Nothing here assumes a distribution: intervals are made of order statistics or of
// counts, and each is the inversion of a test.
//
// Where benchstat's library, github.com/aclements/go-moremath/stats, has a test
// or a distribution, it is that one.
//
// Rank 0. It may import no other package of this module.
package stat
