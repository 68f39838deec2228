package reports

// A column of the table of verdicts, and what it says to someone who has never
// seen one.
type column struct{ Name, Meaning string }

var verdictColumns = []column{
	{"situation", "how many want the lock at once, compared with the CPUs there are"},
	{"use", "the lock to take there: of local ones a general-purpose lock, of distributed ones one of those that were seen to survive the most, with what that is; below it another one that is faster, and where it is enough"},
	{"as good", "locks that were shown to be within the margin of the fastest, and those not told apart: shown neither that nor to be slower"},
	{"rate", "how often a second the lock was taken, by all workers together (hand-overs: how often it passed to another worker); below, where the true median lies with 95 %"},
	{"wait p99", "99 of 100 requests got the lock within this time; ≤ where the clock cannot tell less"},
	{"fairness", "how evenly the workers were served (Jain's index): 100 % is alike; with n workers, 100/n % is one that takes all"},
	{"cost", "of taking the lock once: processor time of the program, or messages to the server"},
	{"how sure", "what the rounds prove, and why this lock of those that are not slower"},
}
