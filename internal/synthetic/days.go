package synthetic

import (
	"fmt"
	"time"

	"locklab/harness"
	"locklab/harness/oracle"
	"locklab/harness/result"
)

// Days returns a run for each day of a machine. factor is the rate of a lock on a day,
// counted from 0, relative to its model; 0 is not measured.
func Days(host string, cpus, days, rounds int, workers []int, models []Model, factor func(day int, lock string) float64) (runs []*result.Run) {
	for day := range days {
		var of []Model
		for _, m := range models {
			if f := factor(day, m.Lock.Name); f > 0 {
				of = append(of, With(m, func(m *Model) {
					rate := m.Rate
					m.Rate = func(w int) float64 { return f * rate(w) }
				}))
			}
		}
		run := Run(uint64(100*len(host)+day), rounds, cpus, workers, of...)
		m := &run.Manifest
		m.Started = m.Started.AddDate(0, 0, 7*day)
		m.Finished = m.Started.Add(time.Hour)
		m.Commit = fmt.Sprintf("%07x", 0xc0ffee0+0x1357*day)
		m.Machine.Host = host
		run.Dir = fmt.Sprintf("runs/%s-%02d", host, day+1)
		runs = append(runs, run)
	}
	return runs
}

// TwoMachines returns the runs of two synthetic machines. There are a dozen of the first:
// mcs becomes slower from the seventh on, ticket is an outlier once, clh is missing once
// and counter breaks a promise in the last. There are three of the second, too few for a
// trend.
func TwoMachines() []*result.Run {
	counter := With(Fast("counter", 40e6), func(m *Model) { m.Lock.Family = harness.Peer })
	models := []Model{Fast("mcs", 12e6), Fast("ticket", 9e6), Fast("clh", 11e6),
		With(Fast("sync-mutex", 25e6), func(m *Model) { m.Lock.Family, m.Noise = harness.Blocking, 0.02 }), counter}
	scatter := []float64{1.01, 0.98, 1.02, 0.99, 1.03, 0.97, 1, 1.015, 0.985, 1.025, 0.995, 1.005}
	first := Days("quiet", 2, len(scatter), 8, []int{2}, models, func(day int, lock string) float64 {
		f := scatter[(day+len(lock))%len(scatter)]
		switch {
		case lock == "mcs" && day >= 6:
			f *= 0.8
		case lock == "ticket" && day == 3:
			f *= 0.5
		case lock == "clh" && day == 8:
			f = 0
		}
		return f
	})
	first[8].Manifest.Skipped = []result.Skip{{Lock: "clh", Reason: "no processor for it"}}
	for _, r := range first[6:] {
		r.Manifest.Machine.Go = "go0.1"
	}
	for _, r := range first[11].Results {
		if r.Lock.Name == "counter" {
			r.Violations = []oracle.Violation{{Rule: "exclusion", Detail: "counter is 7, the workers counted 9", Count: 2}}
		}
	}
	second := Days("loud", 4, 3, 8, []int{2}, models[:4], func(day int, lock string) float64 {
		return 0.6 * scatter[2*day] * map[bool]float64{true: 0.7, false: 1}[day == 2 && lock == "mcs"]
	})
	return append(first, second...)
}
