package oracle

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"locklab/harness"
	"locklab/internal/require"
)

// parseScript parses a history: events separated by ';', each a time in ms, a worker, a kind,
// and options: t5 a token, d90 a deadline in ms, r a reader, taken, and a text after '#'.
func parseScript(t testing.TB, text string) (h History) {
	t.Helper()
	for line := range strings.SplitSeq(text, ";") {
		line, comment, _ := strings.Cut(line, "#")
		f := strings.Fields(line)
		if len(f) == 0 {
			continue
		}
		n := func(s string) int64 {
			v, err := strconv.ParseInt(s, 10, 64)
			if err != nil {
				t.Fatalf("%q: %v", line, err)
			}
			return v
		}
		e := Event{At: n(f[0]) * 1e6, Worker: int(n(f[1])), Kind: EventKind(f[2]), Text: strings.TrimSpace(comment)}
		for _, x := range f[3:] {
			switch {
			case x == "r":
				e.Shared = true
			case x == "taken":
				e.Taken = true
			case x[0] == 't':
				e.Token = uint64(n(x[1:]))
			case x[0] == 'd':
				e.Deadline = n(x[1:]) * 1e6
			default:
				t.Fatalf("%q: what is %q?", line, x)
			}
		}
		h = append(h, e)
	}
	return h
}

func briefText(j Judgement) string {
	var s []string
	count := func(name string, n int) {
		if n != 0 {
			s = append(s, fmt.Sprintf("%s %d", name, n))
		}
	}
	count("overlaps", len(j.Overlaps))
	count("starved", len(j.Starved))
	count("stale", j.Found[StaleWrite])
	count("disagreed", j.Found[""])
	count("fell", j.Found[TokenFell])
	count("stalls", j.Found[Stall])
	count("stuck", len(j.Stuck))
	count("bypasses", j.Found[Overtaken])
	count("excused", len(j.Excused))
	count("unfounded", j.Found[Misled])
	for _, m := range j.Anomalies() {
		s = append(s, "!"+string(m))
	}
	return strings.Join(s, ", ")
}

const (
	aHolds = "0 1 asked; 1 1 granted t1; 9 1 releasing; 10 1 released;"
	bAfter = "2 2 asked; 10 2 granted t2; 19 2 releasing; 20 2 released;"
)

func TestJudge(t *testing.T) {
	second := Rules{Prompt: time.Second}
	fenced, fifo := second, second
	fenced.Fenced, fifo.FIFO = true, true
	two, twoFIFO, again, majority, long, kept := second, fifo, second, second, second, second
	kept.Kept = true
	down := fifo
	down.Down = true
	two.Permits, twoFIFO.Permits, again.Reentrant, majority.Spurious = 2, 2, true, true
	long.End = 5e9
	for _, c := range []struct {
		name         string
		rules        Rules
		script, want string
	}{
		{"nothing", second, "", ""},
		{"one after the other", fenced, aHolds + bAfter, ""},
		{"granted in the moment of the release", fenced, aHolds + "2 2 asked; 9 2 granted t2", ""},

		// Two holders.
		{"two holders", second, aHolds + "2 2 asked; 8 2 granted; 12 2 releasing; 13 2 released", "overlaps 1, !two holders"},
		{"past the deadline", second, "0 1 asked; 1 1 granted d5; 9 1 releasing; 10 1 released; 2 2 asked; 6 2 granted", "overlaps 1, !two holders"},
		{"while paused", second, "0 1 asked; 1 1 granted; 3 1 paused; 8 1 resumed; 9 1 releasing; 2 2 asked; 6 2 granted", "overlaps 1, !two holders"},
		{"before the pause", second, "0 1 asked; 1 1 granted; 7 1 paused; 8 1 resumed; 9 1 releasing; 2 2 asked; 6 2 granted", "overlaps 1, !two holders"},
		{"after it was told", second, "0 1 asked; 1 1 granted; 5 1 told; 9 1 releasing; 10 1 released; 2 2 asked; 6 2 granted", ""},
		{"before it was told", second, "0 1 asked; 1 1 granted; 7 1 told; 9 1 releasing; 10 1 released; 2 2 asked; 6 2 granted", "overlaps 1, !two holders"},
		{"after it was killed", second, "0 1 asked; 1 1 granted; 5 1 killed; 2 2 asked; 6 2 granted", ""},
		{"before it was killed", second, "0 1 asked; 1 1 granted; 7 1 killed; 2 2 asked; 6 2 granted", "overlaps 1, !two holders"},
		{"after a release that failed", second, "0 1 asked; 1 1 granted; 5 1 releasing; 7 1 released # reset; 2 2 asked; 6 2 granted", ""},
		{"beside a holder to the end", second, "0 1 asked; 1 1 granted; 2 2 asked; 6 2 granted", "overlaps 1, !two holders"},
		{"beside an attempt that failed", second, "0 1 asked; 1 1 failed; 2 2 asked; 6 2 granted", ""},
		{"readers", second, "0 1 asked r; 1 1 granted r; 2 2 asked r; 3 2 granted r", ""},
		{"a writer beside a reader", second, "0 1 asked r; 1 1 granted r; 2 2 asked; 3 2 granted", "overlaps 1, !two holders"},
		{"two permits", two, "0 1 asked; 1 1 granted; 2 2 asked; 3 2 granted", ""},
		{"three of two permits", two, "0 1 asked; 1 1 granted; 2 2 asked; 3 2 granted; 4 3 asked; 5 3 granted", "overlaps 1, !two holders"},
		{"again", again, "0 1 asked; 1 1 granted; 2 1 asked; 3 1 granted; 4 1 releasing; 5 1 released; 6 1 releasing; 7 1 released; 5 2 asked; 6 2 granted", ""},
		{"again, and given away between", again, "0 1 asked; 1 1 granted; 2 1 asked; 3 1 granted; 4 1 releasing; 5 1 released; 7 1 releasing; 8 1 released; 5 2 asked; 6 2 granted", "overlaps 1, !two holders"},
		{"again, after it lost both", again, "0 1 asked; 1 1 granted; 2 1 asked; 3 1 granted; 4 1 told; 5 1 asked; 6 1 granted; 7 1 releasing; 8 1 released; 9 2 asked; 10 2 granted", ""},
		{"again, which it does not allow", second, "0 1 asked; 1 1 granted; 2 1 asked; 3 1 granted", "overlaps 1, !two holders"},

		// A holder that the machine does not run.
		{"told late, as it did not run", kept, "0 1 asked; 1 1 granted d30; 28 1 starved d60; 2 2 asked; 35 2 granted; 61 1 told; 70 2 releasing; 71 2 released", "starved 1"},
		{"a later holder told late, as it did not run", kept, "0 3 asked; 1 3 granted d30; 2 3 releasing; 3 3 released; 4 1 asked; 5 1 granted d30; 28 1 starved d60; 6 2 asked; 35 2 granted; 61 1 told; 70 2 releasing; 71 2 released", "starved 1"},
		{"told late, though it ran", kept, "0 1 asked; 1 1 granted d30; 2 2 asked; 35 2 granted; 39 1 told", "overlaps 1, !two holders"},
		{"told late, though it ran again", kept, "0 1 asked; 1 1 granted d30; 28 1 starved d60; 2 2 asked; 35 2 granted; 90 1 told", "overlaps 1, !two holders"},
		{"told late, having run before", kept, "0 1 asked; 1 1 granted d30; 10 1 starved d34; 2 2 asked; 35 2 granted; 51 1 told", "overlaps 1, !two holders"},
		{"another that did not run", kept, "0 1 asked; 1 1 granted d30; 28 2 starved d60; 2 2 asked; 35 2 granted; 61 1 told", "overlaps 1, !two holders"},
		{"did not run, within its promise", kept, "0 1 asked; 1 1 granted d50; 28 1 starved d60; 2 2 asked; 35 2 granted; 61 1 told", "overlaps 1, !two holders"},
		{"did not run because the try stopped it", kept, "0 1 asked; 1 1 granted d30; 28 1 starved d60; 29 1 paused; 59 1 resumed; 2 2 asked; 35 2 granted; 61 1 told", "overlaps 1, !two holders"},
		{"told late, as it did not run, which may be", second, "0 1 asked; 1 1 granted d30; 28 1 starved d60; 2 2 asked; 35 2 granted; 61 1 told", "overlaps 1, !two holders"},

		// The last Deadline of a lost lease.
		{"granted before the last Deadline", kept, "0 1 asked; 1 1 granted d5; 2 2 asked; 5 1 told d9; 8 2 granted", "unfounded 1, !misled"},
		{"granted at the last Deadline", kept, "0 1 asked; 1 1 granted d5; 2 2 asked; 5 1 told d9; 9 2 granted", ""},
		{"granted before the last Deadline, after a fault took the lock", second, "0 1 asked; 1 1 granted d5; 2 2 asked; 5 1 told d9; 8 2 granted", ""},
		{"granted before the Deadline of a paused holder", second, "0 1 asked; 1 1 granted d5; 2 2 asked; 3 1 paused; 8 2 granted; 9 1 resumed; 10 1 told d9", "overlaps 1, unfounded 1, !two holders, !misled"},
		{"granted before the Deadline of a holder that ran", kept, "0 1 asked; 1 1 granted d5; 2 2 asked; 3 2 granted; 4 1 told d9", "overlaps 1, !two holders"},
		{"did not run, within its renewed promise", kept, "0 1 asked; 1 1 granted d30; 28 1 starved d60; 2 2 asked; 35 2 granted; 61 1 told d50", "overlaps 1, !two holders"},

		// The resource.
		{"a stale write", second, "0 1 asked; 1 1 granted; 2 1 told; 3 2 asked; 4 2 granted; 5 2 wrote; 6 1 wrote", "stale 1, !stale write"},
		{"a write before its successor's", second, "0 1 asked; 1 1 granted; 2 1 told; 3 2 asked; 4 2 granted; 5 1 wrote; 6 2 wrote", ""},
		{"refused by its token", fenced, "0 1 asked; 1 1 granted t1; 2 1 told; 3 2 asked; 4 2 granted t2; 5 2 wrote t2 taken; 6 1 wrote t1", ""},
		{"taken by its token", fenced, "0 1 asked; 1 1 granted t2; 2 1 told; 3 2 asked; 4 2 granted t2; 5 2 wrote t2 taken; 6 1 wrote t2 taken", "stale 1, fell 1, !stale write, !token fell"},
		{"the newest is refused", fenced, "0 1 asked; 1 1 granted t2; 2 1 wrote t2 taken; 2 1 releasing; 3 1 released; 3 2 asked; 4 2 granted t1; 5 2 wrote t1", "fell 1, !token fell"},
		{"a resource that took what it should not", fenced, "0 1 asked; 1 1 granted t1; 2 1 told; 3 2 asked; 4 2 granted t2; 5 2 wrote t2 taken; 6 1 wrote t1 taken", "disagreed 1"},
		{"a resource that refused what it should take", fenced, "0 1 asked; 1 1 granted t1; 2 1 wrote t1", "disagreed 1"},
		{"a reader's write after a reader's", fenced, "0 1 asked r; 1 1 granted r t1; 1 2 asked r; 2 2 granted r t2; 3 2 wrote t2 taken; 4 1 wrote t1 taken", ""},
		{"a reader's write after a writer's", second, "0 1 asked r; 1 1 granted r; 2 1 told; 3 2 asked; 4 2 granted; 5 2 wrote; 6 1 wrote", "stale 1, !stale write"},
		{"a writer's write after a reader's, refused", fenced, "0 1 asked; 1 1 granted t1; 2 1 told; 3 2 asked r; 4 2 granted r t2; 5 2 wrote t2 taken; 6 1 wrote t1", ""},
		{"writes of two that were granted together", second, "0 1 asked; 0 2 asked; 5 1 granted; 5 2 granted; 5 2 wrote; 5 2 told; 6 1 wrote", ""},
		{"two writes of one holder", second, "0 1 asked; 1 1 granted; 2 1 wrote; 3 1 wrote", ""},
		{"a write of no holder", fenced, "1 1 wrote t7 taken", ""},
		{"writes with two permits", two, "0 1 asked; 1 1 granted; 2 2 asked; 3 2 granted; 4 2 wrote; 5 1 wrote", ""},

		// Tokens.
		{"the same token", fenced, aHolds + "2 2 asked; 10 2 granted t1", "fell 1, !token fell"},
		{"no token", fenced, aHolds + "2 2 asked; 10 2 granted", "fell 1, !token fell"},
		{"a reader without a token", fenced, "0 1 asked r; 1 1 granted r; 2 1 releasing; 3 1 released;" + bAfter, ""},
		{"a lock without tokens", second, aHolds + "2 2 asked; 10 2 granted t1", ""},
		{"a grant that is late by its deadline", fenced, "0 1 asked; 0 2 asked; 1 2 granted t2; 2 2 releasing; 3 2 released; 9 1 granted t1 d8", ""},
		{"a grant before its deadline", fenced, "0 1 asked; 0 2 asked; 1 2 granted t2; 2 2 releasing; 3 2 released; 9 1 granted t1 d10", "fell 1, !token fell"},
		{"a grant that a pause held up", fenced, "0 1 asked; 1 1 paused; 0 2 asked; 1 2 granted t2; 2 2 releasing; 3 2 released; 5 1 resumed; 9 1 granted t1", ""},
		{"a pause before", fenced, "0 1 paused; 1 1 resumed; 2 1 asked; 0 2 asked; 1 2 granted t2; 2 2 releasing; 3 2 released; 9 1 granted t1", "fell 1, !token fell"},

		// Waits for a free lock.
		{"a stall", second, "0 1 asked; 1 1 granted; 2 2 asked; 5 1 killed; 1006 2 granted", "stalls 1, !stall"},
		{"just in time", second, "0 1 asked; 1 1 granted; 2 2 asked; 5 1 killed; 1005 2 granted", ""},
		{"a long hold", second, "0 1 asked; 1 1 granted; 2 2 asked; 5000 1 releasing; 5001 1 released; 5002 2 granted", ""},
		{"the deadline of a paused holder", second, "0 1 asked; 1 1 granted d3000; 2 2 asked; 5 1 paused; 4000 2 granted; 4001 1 resumed; 4002 1 told", "overlaps 1, !two holders"},
		{"long after the deadline of a paused holder", second, "0 1 asked; 1 1 granted d3000; 2 2 asked; 5 1 paused; 4001 2 granted; 4002 1 resumed; 4003 1 told", "overlaps 1, stalls 1, !two holders, !stall"},
		{"the deadline of a holder that runs", second, "0 1 asked; 1 1 granted d3000; 2 2 asked; 4001 1 told; 4002 2 granted", ""},
		{"no waiter", second, "0 1 asked; 1 1 granted; 5 1 killed; 3000 2 asked; 3001 2 granted", ""},
		{"a paused waiter", second, "0 1 asked; 1 1 granted; 2 2 asked; 4 2 paused; 5 1 killed; 3000 2 resumed; 3001 2 granted", ""},
		{"waiters that give up and come again", second, "0 1 asked; 1 1 granted; 2 2 asked; 5 1 killed; 700 2 failed; 700 2 asked; 1400 2 granted", "stalls 1, !stall"},
		{"one fault after another", second, "0 1 asked; 1 1 granted; 2 2 asked; 5 1 killed; 800 -1 fault; 1600 2 granted", ""},
		{"one fault after another, in vain", second, "0 1 asked; 1 1 granted; 2 2 asked; 5 1 killed; 800 -1 fault; 1801 2 granted", "stalls 1, !stall"},
		{"a fault that stays", second, "0 1 asked; 1 1 granted; 2 2 asked; 3 -1 fault; 4 1 releasing; 5 1 released; 2000 -1 over; 2001 2 granted", "stalls 1, !stall"},
		{"a lost wake-up", second, "0 1 asked; 1 1 granted; 2 2 asked; 5 1 releasing; 6 1 released; 1006 2 granted", "stalls 1, !stall"},
		{"a lost wake-up long after a fault", second, "0 -1 fault; 1000 1 asked; 1001 1 granted; 1002 2 asked; 1005 1 releasing; 1006 1 released; 2006 2 granted", "stalls 1, !stall"},
		{"a stall soon after a fault", second, "0 -1 fault; 900 1 asked; 901 1 granted; 902 2 asked; 905 1 releasing; 906 1 released; 2006 2 granted", "stalls 1, !stall"},
		{"a stall with a fault in it", second, "0 1 asked; 1 1 granted; 2 2 asked; 5 1 releasing; 6 1 released; 100 -1 fault; 1200 2 granted", "stalls 1, !stall"},
		{"a free permit", two, "0 1 asked; 1 1 granted; 2 2 asked; 1003 2 granted", "stalls 1, !stall"},
		{"no free permit", two, "0 1 asked; 1 1 granted; 0 3 asked; 1 3 granted; 2 2 asked; 2003 3 releasing; 2003 2 granted", ""},

		// Stuck.
		{"stuck", long, "0 1 asked; 1 1 granted; 2 2 asked; 5 1 killed", "stalls 1, stuck 1, !stall, !stuck"},
		{"stuck, and one asked just before the end", long, "0 1 asked; 1 1 granted; 2 2 asked; 5 1 killed; 4900 3 asked", "stalls 1, stuck 1, !stall, !stuck"},
		{"free just before the end", long, "0 1 asked; 1 1 granted; 2 2 asked; 4500 1 killed", ""},
		{"paused to the end", long, "0 1 asked; 1 1 granted; 2 2 asked; 5 1 killed; 3000 2 paused", "stalls 1, !stall"},
		{"asked just before the end", long, "0 1 asked; 1 1 granted; 4100 2 asked; 5 1 killed", ""},
		{"held to the end", long, "0 1 asked; 1 1 granted; 2 2 asked", ""},
		{"held to the end after a fault", long, "0 1 asked; 1 1 granted; 2 -1 fault; 3 2 asked; 4000 2 failed", ""},
		{"every attempt failed", long, "0 -1 fault; 1 1 asked; 2 1 failed; 900 2 asked; 901 2 failed", "stuck 2, !stuck"},
		{"every attempt failed but one", long, "0 -1 fault; 1 1 asked; 2 1 failed; 900 2 asked; 901 2 granted; 902 2 releasing; 903 2 released", ""},
		{"every attempt failed, soon after an outage", long, "0 -1 fault; 1 1 asked; 2 1 failed; 4500 -1 over", ""},
		{"every attempt failed, soon after a fault", long, "4500 -1 fault; 4501 1 asked; 4502 1 failed", ""},

		// Order.
		{"overtaken", fifo, "0 1 asked; 1 1 granted; 2 2 asked; 202 3 asked; 310 1 releasing; 311 1 released; 312 3 granted; 313 3 releasing; 314 3 released; 315 2 granted", "bypasses 1, !overtaken"},
		{"overtaken, and still waiting", fifo, "0 1 asked; 1 1 granted; 2 2 asked; 300 3 asked; 310 1 releasing; 311 1 released; 312 3 granted", "bypasses 1, !overtaken"},
		{"asked together", fifo, "0 1 asked; 1 1 granted; 2 2 asked; 201 3 asked; 310 1 releasing; 311 1 released; 312 3 granted; 313 3 releasing; 314 3 released; 315 2 granted", ""},
		{"in order", fifo, "0 1 asked; 1 1 granted; 2 2 asked; 300 3 asked; 310 1 releasing; 311 1 released; 312 2 granted; 313 2 releasing; 314 2 released; 315 3 granted", ""},
		{"no order", second, "0 1 asked; 1 1 granted; 2 2 asked; 300 3 asked; 310 1 releasing; 311 1 released; 312 3 granted", ""},
		{"a reader passes", fifo, "0 1 asked; 1 1 granted; 2 2 asked; 300 3 asked r; 310 1 releasing; 311 1 released; 312 3 granted r", ""},
		{"a grant that is late by its deadline passes", fifo, "0 1 asked; 1 1 granted; 2 2 asked; 300 3 asked; 310 1 releasing; 311 1 released; 312 3 granted d311; 313 3 releasing; 314 2 granted", ""},
		{"a paused waiter is passed", fifo, "0 1 asked; 1 1 granted; 2 2 asked; 100 2 paused; 300 3 asked; 310 1 releasing; 311 1 released; 312 3 granted", ""},
		{"a waiter that gave up is passed", fifo, "0 1 asked; 1 1 granted; 2 2 asked; 311 2 failed; 300 3 asked; 310 1 releasing; 311 1 released; 312 3 granted", ""},
		{"a waiter that gives up later is passed", fifo, "0 1 asked; 1 1 granted; 2 2 asked; 400 2 failed; 300 3 asked; 310 1 releasing; 311 1 released; 312 3 granted", ""},
		{"a reader is passed", fifo, "0 1 asked; 1 1 granted; 2 2 asked r; 300 3 asked; 310 1 releasing; 311 1 released; 312 3 granted", ""},
		{"overtaken by a client that asked after an outage", down, "0 1 asked; 1 1 granted; 2 -1 fault; 3 1 releasing; 4 1 released; 5 2 asked; 6 1 asked; 600 1 granted; 799 3 asked; 802 1 releasing; 803 1 released; 804 3 granted", ""},
		{"overtaken by a client that asked in an outage", down, "0 1 asked; 1 1 granted; 2 -1 fault; 3 1 releasing; 4 1 released; 5 2 asked; 500 3 asked; 600 3 granted", ""},
		{"overtaken long after an outage", down, "0 1 asked; 1 1 granted; 2 -1 fault; 3 1 releasing; 4 1 released; 5 2 asked; 6 1 asked; 600 1 granted; 801 3 asked; 802 1 releasing; 803 1 released; 804 3 granted", "bypasses 1, !overtaken"},
		{"overtaken after a fault that is no outage", fifo, "0 1 asked; 1 1 granted; 2 -1 fault; 3 1 releasing; 4 1 released; 5 2 asked; 500 3 asked; 600 3 granted", "bypasses 1, !overtaken"},
		{"in line before an outage, and overtaken", down, "0 1 asked; 1 1 granted; 2 2 asked; 202 -1 fault; 203 1 releasing; 204 1 released; 500 3 asked; 600 3 granted", "bypasses 1, !overtaken"},
		{"permits arrive in another order", twoFIFO, "0 1 asked; 1 1 granted; 2 4 asked; 3 4 granted; 4 2 asked; 300 3 asked; 310 1 releasing; 310 4 releasing; 311 1 released; 311 4 released; 312 3 granted; 332 2 granted", ""},
		{"permits arrive far apart", twoFIFO, "0 1 asked; 1 1 granted; 2 4 asked; 3 4 granted; 4 2 asked; 300 3 asked; 310 1 releasing; 310 4 releasing; 311 1 released; 311 4 released; 312 3 granted; 333 2 granted", "bypasses 1, !overtaken"},
		{"a reader of a semaphore is passed", twoFIFO, "0 1 asked; 1 1 granted; 2 2 asked r; 300 3 asked; 310 1 releasing; 311 1 released; 312 3 granted", "bypasses 1, !overtaken"},

		// Refusals.
		{"refused, free", second, "0 1 tried; 1 1 refused", "unfounded 1, !misled"},
		{"refused, held", second, aHolds + "3 2 tried; 4 2 refused", ""},
		{"refused, about to be held", second, aHolds + "0 2 tried; 0 2 refused", ""},
		{"refused after the release", second, aHolds + "11 2 tried; 12 2 refused", "unfounded 1, !misled"},
		{"refused after a release that failed", second, "0 1 asked; 1 1 granted; 5 1 releasing; 7 1 released # reset; 11 2 tried; 12 2 refused", ""},
		{"refused after that lock was granted again", second, "0 1 asked; 1 1 granted; 5 1 releasing; 7 1 released # reset;" + "11 2 asked; 12 2 granted; 13 2 releasing; 14 2 released; 15 2 tried; 16 2 refused", "unfounded 1, !misled"},
		{"refused before the holder can have had it", second, "0 1 asked; 0 2 asked; 5 2 granted; 6 2 releasing; 10 2 released; 0 3 tried; 0 3 refused; 7 1 granted", ""},
		{"refused before its predecessor asked", second, "0 1 asked; 2 3 tried; 3 3 refused; 4 2 asked; 5 2 granted; 6 2 releasing; 10 2 released; 7 1 granted", "unfounded 1, !misled"},
		{"refused after an attempt failed", second, "0 1 asked; 1 1 failed; 2 2 tried; 3 2 refused", ""},
		{"refused before an attempt failed", second, "2 1 asked; 3 1 failed; 0 2 tried; 1 2 refused", "unfounded 1, !misled"},
		{"refused with a free permit", two, "0 1 tried; 1 1 refused", ""},
		{"refused before a grant that is late", second, "0 1 asked; 1 2 tried; 2 2 refused; 3 3 asked; 4 3 granted; 5 3 releasing; 6 3 released; 9 1 granted d8", ""},
		{"refused by another that is", majority, "0 1 tried; 1 1 refused", ""},
		{"a reader refused by a reader", second, "0 1 asked r; 1 1 granted r; 2 2 tried r; 3 2 refused", "unfounded 1, !misled"},
		{"a writer refused by a reader", second, "0 1 asked r; 1 1 granted r; 2 2 tried; 3 2 refused", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			require.Equal(t, "judged", briefText(Judge(parseScript(t, c.script), c.rules)), c.want)
		})
	}
}

func TestRulesOf(t *testing.T) {
	got := RulesOf(harness.Traits{FIFO: true, Fenced: true, Permits: 3, Reentrant: true, Servers: 5}, time.Minute)
	want := Rules{FIFO: true, Fenced: true, Permits: 3, Reentrant: true, Spurious: true, Prompt: time.Minute}
	require.Equal(t, "the rules", got, want)
}

const ms = time.Millisecond

func TestWindows(t *testing.T) {
	held := "0 1 asked; 1 1 granted; 2 2 asked;"
	for _, c := range []struct {
		name, script string
		want         []time.Duration
		granted      []bool
	}{
		{"no disturbance", held + "5 1 releasing; 6 1 released; 9 2 granted", nil, nil},
		{"killed", held + "5 1 killed; 9 2 granted", []time.Duration{4 * ms}, []bool{true}},
		{"killed, never granted", held + "5 1 killed; 9 3 asked", []time.Duration{4 * ms}, []bool{false}},
		{"a fault without effect", held + "3 -1 fault; 5 1 releasing; 5 1 released; 5 2 granted", []time.Duration{0}, []bool{true}},
		{"a fault in a wait", held + "5 1 releasing; 6 1 released; 7 -1 fault; 11 2 granted", []time.Duration{4 * ms}, []bool{true}},
		{"two in a wait", held + "5 1 killed; 7 -1 fault; 11 2 granted", []time.Duration{6 * ms, 4 * ms}, []bool{true, true}},
		{"a wait that begins before the next", held + "3 -1 fault; 5 1 releasing; 5 1 released; 8 -1 fault; 11 2 granted", []time.Duration{6 * ms, 3 * ms}, []bool{true, true}},
		{"a wait of which the next has the rest", "0 1 asked; 1 1 granted; 2 2 asked; 2 3 asked; 3 -1 fault; 4 1 releasing; 4 1 released; 5 2 granted; 6 2 releasing; 6 2 released; 8 -1 fault; 15 3 granted", []time.Duration{2 * ms, 7 * ms}, []bool{true, true}},
		{"the longest of two", held + "3 -1 fault; 5 1 releasing; 5 1 released; 7 2 granted; 7 1 asked; 8 2 releasing; 8 2 released; 11 1 granted; 11 2 asked; 12 1 releasing; 14 2 granted", []time.Duration{3 * ms}, []bool{true}},
		{"nothing waits for a while", held + "5 1 killed; 7 2 failed; 10 2 asked; 13 2 granted", []time.Duration{5 * ms}, []bool{true}},
		{"a paused holder whose deadline is known", held + "4 1 paused; 10 2 granted; 12 1 resumed; 13 1 told d6", []time.Duration{4 * ms}, []bool{true}},
		{"a paused holder whose deadline is not", held + "4 1 paused; 10 2 granted; 12 1 resumed; 13 1 told", []time.Duration{0}, []bool{true}},
		{"a paused holder after another", held + "4 1 paused; 10 2 granted; 11 3 asked; 12 2 releasing; 12 2 released; 17 3 granted; 18 1 resumed; 19 1 told", []time.Duration{5 * ms}, []bool{true}},
		{"a holder past its deadline", held + "4 -1 fault; 10 1 told d6; 12 2 granted", []time.Duration{2 * ms}, []bool{true}},
		{"paused waiters", held + "4 2 paused; 5 1 killed; 9 2 resumed; 12 2 granted", []time.Duration{3 * ms, 3 * ms}, []bool{true, true}},
		{"tries do not wait", "0 1 asked; 1 1 granted; 2 2 tried; 5 1 killed; 9 2 granted", []time.Duration{0}, []bool{true}},
	} {
		t.Run(c.name, func(t *testing.T) {
			j := Judge(parseScript(t, c.script), Rules{})
			var got []time.Duration
			var granted []bool
			for _, w := range j.Windows {
				got, granted = append(got, w.Length), append(granted, w.Granted)
			}
			if !slices.Equal(got, c.want) || !slices.Equal(granted, c.granted) {
				t.Errorf("windows %v, granted %v, want %v and %v", got, granted, c.want, c.granted)
			}
		})
	}
}

func TestNotices(t *testing.T) {
	for _, c := range []struct {
		name, script string
		want         []time.Duration
	}{
		{"told before", "0 1 asked; 1 1 granted; 2 2 asked; 5 1 told; 8 2 granted", []time.Duration{3 * ms}},
		{"told after", "0 1 asked; 1 1 granted; 2 2 asked; 8 2 granted; 9 1 told", []time.Duration{-ms}},
		{"killed before it was told", "0 1 asked; 1 1 granted; 2 2 asked; 5 1 killed; 8 2 granted", nil},
		{"released", "0 1 asked; 1 1 granted; 2 2 asked; 5 1 releasing; 6 1 told; 8 2 granted", nil},
		{"its own successor", "0 1 asked; 1 1 granted; 5 1 told; 6 1 asked; 7 1 granted; 8 1 releasing; 9 2 asked; 10 2 granted", nil},
		{"two that lost it", "0 1 asked; 1 1 granted; 2 2 asked; 5 1 told; 8 2 granted; 9 2 told; 10 3 asked; 11 3 granted", []time.Duration{3 * ms, 2 * ms}},
		{"a reader's next is a writer", "0 1 asked r; 1 1 granted r; 2 2 asked r; 3 2 granted r; 5 1 told; 6 2 told; 7 3 asked; 9 3 granted", []time.Duration{4 * ms, 3 * ms}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := Judge(parseScript(t, c.script), Rules{}).Notices; !slices.Equal(got, c.want) {
				t.Errorf("%v, want %v", got, c.want)
			}
		})
	}
	if got := Judge(parseScript(t, "0 1 asked; 1 1 granted; 5 1 told; 6 2 asked; 8 2 granted"), Rules{Permits: 2}).Notices; got != nil {
		t.Errorf("a lock with two permits has notices %v", got)
	}
}

func TestOverlapFigures(t *testing.T) {
	j := Judge(parseScript(t, "0 1 asked; 1 1 granted; 2 2 asked; 5 2 granted; 7 2 releasing; 7 2 released; 8 1 paused; 10 3 asked; 11 3 granted; 20 1 resumed; 21 1 told; 30 3 releasing"), Rules{})
	want := []Overlap{{0, 1, 2 * ms, true}, {0, 2, 10 * ms, false}}
	if !slices.Equal(j.Overlaps, want) || j.Longest != 10*ms {
		t.Errorf("overlaps %+v, longest %v, want %+v", j.Overlaps, j.Longest, want)
	}
	if fs := j.Findings; len(fs) != 2 || !strings.HasPrefix(fs[0].Text, "5ms: worker 2 ") || !strings.HasPrefix(fs[1].Text, "11ms: worker 3 ") {
		t.Errorf("findings %+v, want one of each kind, with times from the start", fs)
	}
}

func TestHolds(t *testing.T) {
	j := Judge(parseScript(t, `0 1 asked r; 1 1 granted r t7 d90; 2 1 paused; 3 1 resumed; 4 1 told d95; 6 1 releasing; 7 1 released #not held;
		8 2 tried; 9 2 granted t8; 10 2 killed; 11 3 asked; 12 3 granted d20; 30 3 releasing; 31 3 released; 40 4 asked; 41 4 granted; 50 5 asked`), Rules{})
	want := []Held{
		{Hold: Hold{Worker: 1, Requested: 0, Acquired: 1e6, Releasing: 4e6, Shared: true, Token: 7}, Released: forever, Deadline: 95e6, Promise: 2e6, Lost: true},
		{Hold: Hold{Worker: 2, Requested: 8e6, Acquired: 9e6, Releasing: 10e6, Token: 8}, Released: forever, Promise: 10e6},
		{Hold: Hold{Worker: 3, Requested: 11e6, Acquired: 12e6, Releasing: 30e6}, Released: 31e6, Deadline: 20e6, Promise: 20e6},
		{Hold: Hold{Worker: 4, Requested: 40e6, Acquired: 41e6, Releasing: 50e6}, Released: forever, Promise: 50e6, Open: true},
	}
	if !slices.Equal(j.Holds, want) {
		t.Errorf("%+v,\nwant %+v", j.Holds, want)
	}
	if n := len(j.Attempts); n != 5 || j.Attempts[4].Outcome != Pending || j.Attempts[4].Answered != 50e6 || !j.Attempts[1].Tried {
		t.Errorf("attempts %+v", j.Attempts)
	}
}
