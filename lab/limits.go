package lab

import (
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"locklab/harness"
)

// A limit is the range of a flag, ends included, against typing mistakes.
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
	all := map[string]limit{
		"run ranks": count(1, harness.MaxRanks), "run rank": count(0, harness.MaxRanks-1), "run assemble": span(1, day),
		"hardware repeats": count(1, 10_000), "hardware budget": span(1, day),
		"chaos tries": count(1, 10_000), "proxy delay": span(0, harness.MaxDelay),
		"simulate seeds": count(1, 1000),
		"trace clients":  count(1, 26), "trace hold": span(0, time.Minute),
	}
	for _, cmd := range []string{"run", "compare"} {
		all[cmd+" rounds"], all[cmd+" budget"] = count(1, 10_000), span(1, 7*day)
		all[cmd+" duration"], all[cmd+" warmup"] = span(1, harness.MaxWindow), span(0, harness.MaxWindow)
	}
	for _, cmd := range []string{"compare", "history"} {
		all[cmd+" alpha"] = limit{1e-300, 1 - 1e-16, "a probability between 0 and 1, such as 0.05"}
	}
	return all
}

func checkLimits(cmd *cobra.Command) (err error) {
	all := limits()
	cmd.Flags().Visit(func(f *pflag.Flag) {
		l, ranged := all[cmd.Name()+" "+f.Name]
		if err != nil || !ranged {
			return
		}
		x, perr := strconv.ParseFloat(f.Value.String(), 64)
		if d, derr := time.ParseDuration(f.Value.String()); derr == nil && f.Value.Type() == "duration" {
			x, perr = float64(d), nil
		}
		if perr != nil || !l.holds(x) {
			err = usage("--%s is %s: want %s", f.Name, f.Value, l.text)
		}
	})
	return err
}
