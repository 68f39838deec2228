package lab

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"locklab/internal/stat"
)

// marginFlag sets to only if the flag is given: otherwise the manifest of the run decides.
func marginFlag(f *pflag.FlagSet, to **float64, more string) {
	f.Var(&valueFlag[*float64]{to, fmt.Sprintf("%v%%", 100*stat.DefaultMargin), parseMargin}, "margin", "practical margin: the least change of a rate or time that counts"+more)
}

func anyHostFlag(f *pflag.FlagSet, to *bool) {
	f.BoolVar(to, "any-host", false, "treat machines that differ only in the host name as one, such as containers")
}

// parseMargin reads a percentage such as "0.5%"; without the sign 0.05 could mean 5 %.
func parseMargin(text string) (*float64, error) {
	number, signed := strings.CutSuffix(text, "%")
	v, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	if v /= 100; err != nil || !signed || !(v >= 0 && v <= stat.MaxMargin) {
		return nil, fmt.Errorf("want a percentage such as 5%%, from 0%% to %v%%", 100*stat.MaxMargin)
	}
	return &v, nil
}
