package chaos

import (
	"cmp"
	"time"
)

// Estimate returns the number of tries left and their approximate duration. A try counts
// once for all locks that share it.
func (p *Plan) Estimate() (tries int, d time.Duration) {
	for _, s := range p.Scenarios {
		n := p.left(s)
		tries, d = tries+n, d+time.Duration(n)*cmp.Or(time.Duration(s.Takes)*time.Second, s.Deadline)
	}
	d /= time.Duration(max(1, p.Parallel))
	if p.Budget > 0 {
		d = min(d, p.Budget)
	}
	return tries, d
}

func (p *Plan) left(s *Scenario) (tries int) {
	for _, group := range p.groups(s) {
		most := 0
		for _, v := range group {
			count := 0
			if p.Done != nil {
				count, _ = p.Done(s.Name, v.Name)
			}
			if v.Unavailable == "" {
				most = max(most, p.tries(s)-count)
			}
		}
		tries += most
	}
	return tries
}
