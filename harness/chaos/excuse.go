package chaos

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"locklab/harness/oracle"
	"locklab/harness/result"
)

type excuse struct {
	oracle.Excuse // zero if a holder did not run
	why           string
}

const delayedFigure = "not run by the machine, in a try that does not count"

// excuse returns the machine's effect on a try of s, nil if it does not matter. It adds
// the anomalies shown by the scenario that the machine does not explain.
func (s *Subject) excuse(j *oracle.Judgement, delays *oracle.Delays) *excuse {
	var x *excuse
	for _, h := range s.timed {
		if e, ok := delays.Excuse(h.anomaly, h.from, h.to, h.spare); ok {
			x = &excuse{e, fmt.Sprintf("%s, and %s", h.text, notRun(e))}
			continue
		}
		s.show(h.anomaly, h.text)
	}
	if len(j.Excused) > 0 {
		e := j.Excused[len(j.Excused)-1]
		x = &excuse{e, fmt.Sprintf("%s: a wait of %v from %v on, of which %s", e.Anomaly, e.Waited.Round(time.Millisecond),
			time.Duration(e.From-j.Start).Round(time.Millisecond), notRun(e))}
	}
	if len(j.Starved) > 0 && len(j.Overlaps) == 0 {
		x = &excuse{why: "the machine kept the process of a holder from running until the next one had entered"}
	}
	return x
}

func notRun(e oracle.Excuse) string {
	return fmt.Sprintf("the machine did not run %s for %v", e.Process, e.Delayed.Round(time.Millisecond))
}

// hurt reports whether a try of s shows an unexpected anomaly that no delay excuses.
func (s *Subject) hurt(j *oracle.Judgement, expected result.Expectation) bool {
	return slices.ContainsFunc(slices.Concat(j.Anomalies(), slices.Collect(maps.Keys(s.anomalies))), func(h oracle.Anomaly) bool {
		return !slices.Contains(expected.Anomalies, h)
	})
}
