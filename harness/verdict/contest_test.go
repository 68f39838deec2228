package verdict

import (
	"fmt"
	"math"
	"testing"

	"locklab/harness"
	"locklab/harness/stat"
	"locklab/internal/synthetic"
)

// TestUnspent: what pairs of locks for use leave of the 5 % is for those with a lock kept
// for reference, and not more; a single bad round then hides less.
func TestUnspent(t *testing.T) {
	for _, rounds := range []int{10, 14, 17, 19, 24} {
		var models []synthetic.Model
		for i := range 17 {
			m := synthetic.With(synthetic.Fast(fmt.Sprintf("lock-%02d", i), 1e6), func(m *synthetic.Model) {
				m.Noise = 0.02
				if i >= 4 {
					m.Lock.Status = harness.Reference
				}
			})
			models = append(models, m)
		}
		first, _ := Standing(Groups(synthetic.Run(5, rounds, 2, []int{2}, models...)))
		s := first[0]
		c := s.contest()
		among, aside := levels(4, 13)
		if c.level != among || len(c.rivals) != 13 || len(c.pool) != 4 {
			t.Fatalf("%d rounds: level %v, %d and %d locks", rounds, c.level, len(c.pool), len(c.rivals))
		}
		pair := c.compareAt(c.pool[0], c.pool[1], c.level)
		spent := float64(stat.Pairs(4, 0)) * (1 - pair.Confidence)
		if !pair.Enough() {
			spent = float64(stat.Pairs(4, 0)) * (1 - among)
		}
		if total := spent + 4*13*(1-c.aside); c.aside > aside || math.Abs(total-0.05) > 1e-9 {
			t.Errorf("%d rounds: level %v of %v, %v spent in all, want 0.05", rounds, c.aside, aside, total)
		}
		worst := c.compare(c.pool[0], c.rivals[0])
		whole := c.compareAt(c.pool[0], c.rivals[0], aside)
		if rounds == 17 && !(worst.Lo > whole.Lo && worst.Hi < whole.Hi) {
			t.Errorf("17 rounds: [%v, %v] is not narrower than [%v, %v]", worst.Lo, worst.Hi, whole.Lo, whole.Hi)
		}
	}
}
