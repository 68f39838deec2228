package measure

import (
	"time"

	"locklab/harness"
	"locklab/internal/machine"
)

// A spinner spends a Span as calibrated work. A hold's spinner may also change data.
type spinner struct {
	some       bool // there is something to do
	plain      bool // the number of iterations is constant
	iterations int  // of each span, or their mean
	drawn      bool
	mix        *mixture[int] // nil if spans are drawn exponentially
	rng        *machine.Random

	data   structure // may be nil
	worker int       // the worker that changes the data
}

func newSpinner(work machine.Work, s harness.Span, rng *machine.Random) spinner {
	spin := spinner{iterations: work.Iterations(s.Mean), drawn: s.Exp, rng: rng}
	if parts := s.Parts(); parts != nil {
		spin.drawn, spin.mix = true, newMixture(parts, work.Iterations)
	}
	spin.some, spin.plain = spin.iterations != 0, !spin.drawn
	return spin
}

// guard makes every span change data: read before the work, written after it.
func (s *spinner) guard(data structure, worker int) {
	if data != nil {
		s.some, s.plain, s.data, s.worker = true, false, data, worker
	}
}

// spend is small enough to inline, without a test for data: an empty span must cost nothing.
func (s *spinner) spend() {
	if s.some {
		s.work()
	}
}

func (s *spinner) work() {
	if s.plain {
		machine.Do(s.iterations)
		return
	}
	n := s.iterations
	if s.drawn {
		n = s.draw()
	}
	if s.data == nil {
		machine.Do(n)
		return
	}
	at, value := s.data.find(s.rng)
	machine.Do(n)
	s.data.write(s.worker, at, value)
}

func (s *spinner) draw() int {
	if s.mix != nil {
		return s.mix.draw(s.rng)
	}
	return machine.ExpIterations(s.rng, s.iterations)
}

// A sleeper spends a Span without using the CPU, which the servers may need.
type sleeper struct {
	span harness.Span
	mix  *mixture[time.Duration] // may be nil
	rng  *machine.Random
}

func newSleeper(s harness.Span, rng *machine.Random) sleeper {
	sleep := sleeper{span: s, rng: rng}
	if parts := s.Parts(); parts != nil {
		sleep.mix = newMixture(parts, func(d time.Duration) time.Duration { return d })
	}
	return sleep
}

func (s *sleeper) spend() {
	if s.span.Mean == 0 {
		return
	}
	d := s.span.Mean
	switch {
	case s.mix != nil:
		d = s.mix.draw(s.rng)
	case s.span.Exp:
		d = time.Duration(s.rng.Exp(float64(d)))
	}
	time.Sleep(d)
}

// A mixture draws one of some values by their weights.
type mixture[T any] struct {
	values  []T
	weights []uint64
	total   uint64 // of the weights, under 1<<32
}

func newMixture[T any](parts []harness.Part, value func(time.Duration) T) *mixture[T] {
	m := new(mixture[T])
	for _, p := range parts {
		m.values, m.weights = append(m.values, value(p.Length)), append(m.weights, uint64(p.Weight))
		m.total += uint64(p.Weight)
	}
	return m
}

func (m *mixture[T]) draw(rng *machine.Random) T {
	x := rng.Uint64() >> 32 * m.total >> 32
	i := 0
	for x >= m.weights[i] {
		x -= m.weights[i]
		i++
	}
	return m.values[i]
}
