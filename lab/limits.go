package lab

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"locklab/harness"
)

// A limit is the range of a number or duration flag, both ends included. A typing mistake
// must not occupy the machine for a year, nor overflow.
type limit struct {
	low, high float64 // durations in ns
	text      string  // the range in words
}

func (l limit) holds(x float64) bool { return x >= l.low && x <= l.high } // false for NaN

func count(low, high int) limit {
	return limit{float64(low), float64(high), fmt.Sprintf("%d to %d", low, high)}
}

func span(low, high time.Duration) limit {
	text := fmt.Sprintf("%v to %v", low, harness.Span{Mean: high})
	if low == 1 {
		text = fmt.Sprintf("more than 0, and %v at most", harness.Span{Mean: high})
	}
	return limit{float64(low), float64(high), text}
}

// limits returns the range of each number or duration flag, by command and flag. The axes
// of a workload are lists; harness.Workload checks their values.
func limits() map[string]limit {
	const day = 24 * time.Hour
	window, warmup := span(1, harness.MaxWindow), span(0, harness.MaxWindow)
	return map[string]limit{
		"run rounds": count(1, 10_000), "run duration": window, "run warmup": warmup, "run budget": span(1, 7*day),
		"run ranks": count(1, harness.MaxRanks), "run rank": count(0, harness.MaxRanks-1), "run assemble": span(1, day),
		"compare rounds": count(1, 10_000), "compare duration": window, "compare warmup": warmup, "compare budget": span(1, 7*day),
		"compare alpha":    {1e-300, 1 - 1e-16, "a probability between 0 and 1, such as 0.05"},
		"history alpha":    {1e-300, 1 - 1e-16, "a probability between 0 and 1, such as 0.05"},
		"hardware repeats": count(1, 10_000), "hardware budget": span(1, day),
		"chaos tries": count(1, 10_000), "proxy delay": span(0, harness.MaxDelay),
		"simulate seeds": count(1, 1000), "simulate jobs": count(1, 1024),
		"trace clients": count(1, 26), "trace hold": span(0, time.Minute),
	}
}

const seedFlag = "seed"

// checkLimits reports the first given flag of cmd that is out of range.
func checkLimits(cmd *cobra.Command) (err error) {
	all := limits()
	cmd.Flags().Visit(func(f *pflag.Flag) {
		l, ranged := all[cmd.Name()+" "+f.Name]
		if err != nil || !ranged {
			return
		}
		var x float64
		switch f.Value.Type() {
		case "int":
			n, e := cmd.Flags().GetInt(f.Name)
			x, err = float64(n), e
		case "float64":
			x, err = cmd.Flags().GetFloat64(f.Name)
		case "duration":
			d, e := cmd.Flags().GetDuration(f.Name)
			x, err = float64(d), e
		}
		if err == nil && !l.holds(x) {
			err = usage("--%s is %s: want %s", f.Name, f.Value, l.text)
		}
	})
	return err
}
