package zklock

import "testing"

// TestForecast: y: the ticket ahead has the predicted number, n: not; capitals: asked by name.
func TestForecast(t *testing.T) {
	for _, test := range []struct{ seen, want string }{
		{"yyyy", "yYYY"},
		{"nnnn", "nnnn"},
		{"ynyn", "yNyn"}, // no savings to pay for it: then after two in a row
		{"ynnyynyyyyy", "yNnyyNyyyyY"},
		{"yyyynyy", "yYYYNyY"}, // two were saved before it
	} {
		var f forecast
		var got []rune
		for _, r := range test.seen {
			byName := f.byName()
			f.note(r == 'y')
			if byName {
				r += 'A' - 'a'
			}
			got = append(got, r)
		}
		if string(got) != test.want {
			t.Errorf("%s: asked as in %s, want %s", test.seen, string(got), test.want)
		}
	}
}

// TestForecastCost: for any pattern, wasted requests hardly exceed saved ones.
func TestForecastCost(t *testing.T) {
	for _, period := range []string{"yn", "yyn", "yyyn", "ynn", "yyyyynn", "ynyyn", "yyyyn"} {
		var f forecast
		balance, least := 0, 0
		for i := range 10_000 {
			right := period[i%len(period)] == 'y'
			switch {
			case f.byName() && right:
				balance++
			case f.byName():
				balance--
			}
			f.note(right)
			least = min(least, balance)
		}
		if least < -10 && balance < 0 {
			t.Errorf("%s, again and again: %d requests more than with lists", period, -balance)
		}
	}
}
