package judge_test

import (
	"fmt"
	"time"

	"locklab/harness"
	"locklab/harness/judge"
	"locklab/harness/result"
)

func ExampleCompare() {
	// A run with one worker that takes the lock at this rate, within 1 %.
	run := func(rate uint64) *result.Run {
		r := &result.Run{Manifest: result.Manifest{Finished: time.Now()}}
		for round := range 10 {
			r.Results = append(r.Results, &result.Result{
				Lock: result.Lock{Name: "mcs"}, Workload: harness.Workload{Workers: 1, Hold: harness.Span{Mean: 100}},
				Round: round, Elapsed: time.Second, Ops: rate + rate/1000*uint64(round),
			})
		}
		return r
	}
	c, err := judge.Compare(run(10_000_000), run(9_000_000), judge.CompareOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, r := range c.Rows {
		fmt.Printf("%s: %.3f, p = %.5f: %s\n", r.Case(), r.Points[1].Before.Median, r.Points[1].Before.P, r.Verdict)
	}
	// Output: lock=mcs/workers=1/hold=100ns: 0.900, p = 0.00001: regressed
}
