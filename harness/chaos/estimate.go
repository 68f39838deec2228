package chaos

import "time"

// Estimate returns the number of tries left and their approximate duration. A try counts
// once for all locks that share it. took, which may be nil, returns the measured duration
// of a try of a scenario. If it is not positive, a recorded duration is used.
func (p *Plan) Estimate(took func(scenario string) (try time.Duration)) (tries int, d time.Duration) {
	for _, s := range p.Scenarios {
		try := s.lasts()
		if took != nil {
			if t := took(s.Name); t > 0 {
				try = t
			}
		}
		n := p.left(s)
		tries, d = tries+n, d+time.Duration(n)*try
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

func (s *Scenario) lasts() time.Duration {
	if s.Takes > 0 {
		return time.Duration(s.Takes) * time.Second
	}
	return s.Deadline
}
