package verdict

import (
	"fmt"

	"locklab/harness/metric"
	"locklab/harness/resultfile"
	"locklab/internal/numfmt"
)

// The numbers of the rule. What each is for, and the test that shows what it does,
// stand in docs/methodology.md; the practical margin is [stat.DefaultMargin], or what
// the run says.
const (
	noiseFactor = 2 // the lock to use must not be so many times slower than another, as far as can be told

	// A lock that is not told apart from the leader seems slower if the interval of this
	// level lies above the margin.
	seeming = 0.8

	fairStep    = 5  // points by which the intervals of two fairness indices must part
	unfairBelow = 50 // of the fairness index, percent

	mostlyReads = 50 // acquisitions in a hundred
)

// fairness is the metric by whose rounds a tie is broken.
var fairness = metric.Jain

// The grades of a verdict.
const (
	Clear  = "clear winner"   // every other candidate is slower by more than the margin
	Likely = "likely winner"  // every other one is, or seems to be
	Tie    = "tie"            // another one is as good, or not told apart
	Only   = "only candidate" // there is no other one
	None   = "no verdict"
)

// HandoverRule is what distributed locks are ranked by, for the reader.
const HandoverRule = "Contended distributed locks are ranked by hand-overs per second, not by acquisitions: an owner that takes its lock back at once raises the latter without serving any other."

// Rule is the rule in words for the reader, with the terms of the run that m is of;
// judge and its parts carry it out.
func Rule(m resultfile.Manifest) string {
	margin := marginText(m.PracticalMargin())
	text := "The lock with the highest median rate over the rounds leads. " +
		"It is compared with every other lock by the ratio of their rates in the same round, so that what slows down a whole round cancels. " +
		fmt.Sprintf("A lock is slower if the order-statistic interval of that ratio shows it to be slower by more than the margin of %s, as good if it leaves no room for more than that, and else not told apart. ", margin) +
		"The intervals hold at 95 % for all pairs of a row together (Bonferroni"
	if m.AnyStatus() {
		text += "). "
	} else {
		text += "; 4.5 of the 5 % are for pairs of locks for use, any of which might have led, and the rest for those with a lock kept for reference). "
	}
	text += fmt.Sprintf("What is slower is out; so is what is not told apart, but seems slower: by more than the margin at 80 %% by itself. Of the rest the fairer one is used, if its fairness is known to be: the intervals of the index part by more than %d points. Then the simpler one (of the standard library, then with one word or key, then with one for each waiter, then put together), then the faster one. ", fairStep) +
		"Where the lock to use may be half as fast as another of these, there is too much noise for a verdict. "
	if m.AnyStatus() {
		return text + "The choice was among all locks (--candidates all): those meant for use and those kept for reference, but none that is historical, broken, a control or broke a promise."
	}
	return text + "The choice was among the locks that are meant for use (--candidates recommended): where one of those kept for reference is faster by more than the margin, the row says so."
}

// marginText formats a margin, a share.
func marginText(margin float64) string { return numfmt.Percent(100 * margin) }
