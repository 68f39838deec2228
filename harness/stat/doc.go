// Package stat holds the statistics of every figure that is printed or drawn:
// the median of the rounds of a case with its interval ([Summarize]), the ratio
// of two cases that were measured in the same rounds ([Paired]) or apart
// ([Unpaired]), and what it takes to read several of them together ([Level],
// [Holm]). Nothing here assumes a distribution: intervals are made of order
// statistics, and each is the inversion of the test whose P stands beside it.
//
// Where benchstat's library, github.com/aclements/go-moremath/stats, has a test
// or a distribution, it is that one.
//
// Rank 0. It may import no other package of this module.
package stat
