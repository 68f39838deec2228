package lab

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"locklab/harness/judge"
	"locklab/internal/stat"
)

// A rangedFlag is a flag with one value from low to high, against typing mistakes. It
// implements pflag.Value.
type rangedFlag[T int | uint64 | float64 | time.Duration] struct {
	to        *T
	low, high T
	parse     func(string) (T, error)
}

func (r rangedFlag[T]) Type() string {
	return strings.ToLower(strings.TrimPrefix(fmt.Sprintf("%T", *r.to), "time."))
}

func (r rangedFlag[T]) String() string {
	if *r.to == 0 {
		return "0" // help shows no such default
	}
	return fmt.Sprint(*r.to)
}

func (r rangedFlag[T]) Set(text string) error {
	x, err := r.parse(text)
	if err != nil || !(x >= r.low && x <= r.high) { // NaN is in no range
		return usage("want %v to %v", r.low, r.high)
	}
	*r.to = x
	return nil
}

func count(to *int, byDefault, low, high int) rangedFlag[int] {
	*to = byDefault
	return rangedFlag[int]{to, low, high, strconv.Atoi}
}

func seed(to *uint64, byDefault uint64) rangedFlag[uint64] {
	*to = byDefault
	return rangedFlag[uint64]{to, 0, 1<<64 - 1, func(text string) (uint64, error) { return strconv.ParseUint(text, 0, 64) }}
}

func span(to *time.Duration, byDefault, low, high time.Duration) rangedFlag[time.Duration] {
	*to = byDefault
	return rangedFlag[time.Duration]{to, low, high, time.ParseDuration}
}

func chance(to *float64) rangedFlag[float64] {
	*to = judge.DefaultAlpha
	parse := func(text string) (float64, error) { return strconv.ParseFloat(text, 64) }
	return rangedFlag[float64]{to, 1e-9, 0.5, parse}
}

// toleranceFlag sets to only if the flag is given: otherwise the manifest of the run decides.
func toleranceFlag(f *pflag.FlagSet, to **float64, more string) {
	f.Var(&valueFlag[*float64]{to, fmt.Sprintf("%v%%", 100*stat.DefaultTolerance), parsePercentage}, "tolerance", "least change of a rate or time that counts"+more)
}

func anyHostFlag(f *pflag.FlagSet, to *bool) {
	f.BoolVar(to, "any-host", false, "treat machines that differ only in the host name as one, such as containers")
}

// parsePercentage requires the sign: without it 0.05 could mean 5 %.
func parsePercentage(text string) (*float64, error) {
	number, signed := strings.CutSuffix(text, "%")
	v, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	if v /= 100; err != nil || !signed || !(v >= 0 && v <= stat.MaxTolerance) {
		return nil, fmt.Errorf("want a percentage such as 5%%, from 0%% to %v%%", 100*stat.MaxTolerance)
	}
	return &v, nil
}

// Limits of several commands.
const (
	day        = 24 * time.Hour
	mostRounds = 10_000
)
