package harness

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A Span is a length of time that a worker spends: calibrated CPU work in local runs, and
// sleep in remote runs, because the servers need the CPU too. [Span.Set] reads one of
// several lengths.
type Span struct {
	// Mean is the length of every span, or the mean of their distribution.
	Mean time.Duration `json:"mean"`
	// Exp draws each span from an exponential distribution with that mean.
	Exp bool `json:"exp,omitempty"`
	// Mix, if not "", draws each span from lengths by their weights: "100ns*99+50µs" is 50 µs
	// once in a hundred. Mean is then their mean, rounded up to a nanosecond. Equal mixtures are
	// equal texts: each length occurs once, the shortest first, and the weights have no common
	// divisor.
	Mix string `json:"mix,omitempty"`
}

// A part is a length of a mixture. Its share of the spans is weight divided by the sum of
// all weights.
type part struct {
	length time.Duration
	weight int
}

const (
	mostParts  = 8
	mostWeight = 1_000_000
	maxSpan    = time.Minute // keeps a typing mistake from taking a day
)

// String returns the form that Set reads: "100ns", "100ns-exp" or "100ns*99+50µs".
func (s Span) String() string {
	switch {
	case s.Mix != "":
		return s.Mix
	case s.Exp:
		return length(s.Mean) + "-exp"
	}
	return length(s.Mean)
}

// length formats d without the zeros of 1m0s and 1h0m0s, which are noise in a name.
func length(d time.Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	return text
}

// Parts yields the lengths of a mixture, the shortest first, and their weights; nothing if s
// is no mixture.
func (s Span) Parts() iter.Seq2[time.Duration, int] {
	return func(yield func(time.Duration, int) bool) {
		parts, _ := parseParts(s.Mix)
		for _, p := range parts {
			if !yield(p.length, p.weight) {
				return
			}
		}
	}
}

// Set reads "0", "100ns", "100ns-exp" or "100ns*99+50us".
func (s *Span) Set(text string) error {
	mean, exp := strings.CutSuffix(text, "-exp")
	d, err := time.ParseDuration(mean)
	switch {
	case err == nil && d >= 0:
		*s = Span{Mean: d, Exp: exp}
		return nil
	case err != nil && !exp && strings.ContainsAny(text, "*+"):
		mix, err := parseMix(text)
		if err == nil {
			*s = mix
		}
		return err
	}
	return fmt.Errorf("%w: %q is not a span: want a duration of 0 or more, such as 100ns, 100ns-exp for exponential times, or 100ns*99+50us for 50us once in a hundred", ErrUsage, text)
}

func parseMix(text string) (Span, error) {
	parts, err := parseParts(text)
	if err != nil {
		return Span{}, fmt.Errorf("%w: %q is not a span: %v", ErrUsage, text, err)
	}
	if len(parts) == 1 {
		return Span{Mean: parts[0].length}, nil
	}
	// No overflow: a minute has 6e10 ns, and the weights are 8e6 together.
	var sum, weights int64
	words := make([]string, len(parts))
	for i, p := range parts {
		sum += int64(p.length) * int64(p.weight)
		weights += int64(p.weight)
		words[i] = length(p.length)
		if p.weight > 1 {
			words[i] += "*" + strconv.Itoa(p.weight)
		}
	}
	return Span{Mean: time.Duration((sum + weights - 1) / weights), Mix: strings.Join(words, "+")}, nil
}

func parseParts(text string) (parts []part, err error) {
	for word := range strings.SplitSeq(text, "+") {
		p, err := parsePart(word)
		if err != nil {
			return nil, err
		}
		if i := slices.IndexFunc(parts, func(o part) bool { return o.length == p.length }); i >= 0 {
			parts[i].weight += p.weight
		} else {
			parts = append(parts, p)
		}
	}
	if len(parts) > mostParts {
		return nil, fmt.Errorf("it has %d lengths, want %d at most", len(parts), mostParts)
	}
	slices.SortFunc(parts, func(a, b part) int { return cmp.Compare(a.length, b.length) })
	divisor := 0
	for _, p := range parts {
		divisor = gcd(p.weight, divisor)
	}
	for i := range parts {
		if parts[i].weight /= divisor; parts[i].weight > mostWeight {
			return nil, fmt.Errorf("%v has a weight of %d, want %d at most", parts[i].length, parts[i].weight, mostWeight)
		}
	}
	return parts, nil
}

func parsePart(word string) (part, error) {
	text, times, weighted := strings.Cut(word, "*")
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 || d > maxSpan {
		return part{}, fmt.Errorf("%q is no duration of 0 to %s", text, length(maxSpan))
	}
	p := part{d, 1}
	if weighted {
		if p.weight, err = strconv.Atoi(times); err != nil || p.weight < 1 || p.weight > mostWeight {
			return part{}, fmt.Errorf("the weight in %q is no whole number from 1 to %d", word, mostWeight)
		}
	}
	return p, nil
}

func gcd(a, b int) int {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

func (s Span) check() string {
	if s.Mean < 0 || s.Mean > maxSpan {
		return fmt.Sprintf("%v: want 0 to %v", s.Mean, maxSpan)
	}
	if s.Mix == "" {
		return ""
	}
	if whole, err := parseMix(s.Mix); err != nil || whole != s {
		return fmt.Sprintf("%q with a mean of %v: want a value of Span.Set", s.Mix, s.Mean)
	}
	return ""
}
