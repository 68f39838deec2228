package numfmt

import (
	"math"
	"testing"

	"locklab/internal/require"
)

func TestFormats(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{PerSecond(0), "0 /s"}, {PerSecond(12.34), "12.3 /s"}, {PerSecond(999.96e3), "1 M/s"}, {PerSecond(12e6), "12 M/s"},
		{PerSecond(2.5e12), "2.5 T/s"}, {PerSecond(1e15), "1000 T/s"}, {PerSecond(math.NaN()), "–"}, {SI(28.91e6), "28.9 M"}, {SI(4.2), "4.2"},
		{Nanos(94.66), "94.7 ns"}, {Nanos(1500), "1.5 µs"}, {Nanos(3e9), "3 s"}, {Nanos(999.96e3), "1 ms"}, {Nanos(math.NaN()), "–"},
		{Percent(99.96), "100 %"}, {Percent(99.6), "99.6 %"}, {Percent(45.01), "45 %"}, {Percent(0.04), "< 0.1 %"}, {Percent(0), "0 %"},
		{Number(2), "2"}, {Number(0.1234), "0.123"}, {Number(1234.5), "1235"}, {Number(math.Inf(1)), "∞"}, {Number(math.NaN()), "–"},
		{Times(1.04), "1 times"}, {Times(1.26), "1.3 times"}, {Times(1234), "1200 times"}, {Times(123456), "120 000 times"},
		{Plural(1, "round"), "1 round"}, {Plural(0, "round"), "0 rounds"}, {Plural(2, "round"), "2 rounds"},
		{Noun(1, "round"), "round"}, {Noun(0, "round"), "rounds"}, {Choose(1, "is", "are"), "is"}, {Choose(2, "is", "are"), "are"}, {Choose(0, "is", "are"), "are"},
		{List(nil, 2), ""}, {List([]string{"a"}, 2), "a"}, {List([]string{"a", "b", "c"}, 3), "a, b and c"}, {List([]string{"a", "b", "c", "d"}, 3), "a, b and 2 more"},
		{Sentence("no"), "No."}, {Sentence(""), ""}, {Sentence("Über."), "Über."}, {Sentence("µs are short"), "Μs are short."},
	} {
		require.Equal(t, "Plain", Plain(c.got), c.want)
	}
}
