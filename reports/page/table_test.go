package page

import (
	"strings"
	"testing"

	"locklab/harness"
	"locklab/harness/judge"
	"locklab/internal/numfmt"
	"locklab/internal/synthetic"
)

func TestTableText(t *testing.T) {
	mutex, same := synthetic.Fast(judge.DefaultBaseline, 1e6), synthetic.Fast("same", 1e6)
	noisy := synthetic.With(synthetic.Fast("wild", 1.05e6), func(m *synthetic.Model) { m.Noise = 0.3 })
	gentle := synthetic.With(synthetic.Fast("gentle", 1.99e6), func(m *synthetic.Model) { m.Lock.Family = harness.Blocking })
	broken := synthetic.With(synthetic.Fast("wrong", 9e6), withStatus(harness.Broken), breaking)
	for _, c := range []struct {
		name   string
		rounds int
		models []synthetic.Model
		want   []string
	}{
		{"faster and slower", 12, []synthetic.Model{mutex, synthetic.Fast("fast", 2e6), synthetic.Fast("slow", 2.5e5)},
			[]string{"fast", "*", "slow", "M/s", "fast is ", "slow is 0.25x", "2 of 2 differences with sync-mutex are significant with 8 workers.", "n = 12 rounds"}},
		{"the same", 12, []synthetic.Model{mutex, same}, []string{"=", "No lock differs significantly from sync-mutex with 8 workers."}},
		{"noise", 12, []synthetic.Model{mutex, noisy}, []string{"No lock differs significantly from sync-mutex with 8 workers."}},
		{"the recommended lock is not the fastest", 12, []synthetic.Model{mutex, synthetic.Fast("fast", 2e6), gentle, synthetic.Fast("slow", 2.5e5)},
			[]string{"gentle is 2", "slow is 0.25x", "3 of 3 differences"}},
		{"three rounds", 3, []synthetic.Model{mutex, same}, []string{"n=3", "n = 3 rounds"}},
		{"broken", 12, []synthetic.Model{mutex, same, broken}, []string{"wrong (broken) !", "! wrong (broken) violated exclusion in 2 of 24 results, so it has no speed."}},
		{"alone", 12, []synthetic.Model{same}, []string{"throughput as a ratio to same"}},
	} {
		run := synthetic.Run(7, c.rounds, 2, []int{1, 8}, c.models...)
		for form, text := range formsOf(t, run) {
			text = numfmt.Plain(strings.NewReplacer("\\", "", "&#43;", "+").Replace(strings.Join(strings.Fields(text), " ")))
			for _, want := range c.want {
				if !strings.Contains(text, want) {
					t.Errorf("%s: the %s lacks %q", c.name, form, want)
				}
			}
		}
	}
}
