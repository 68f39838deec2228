package machine

import (
	"encoding/json"
	"math"
	"testing"
)

func TestRatingRoundTrip(t *testing.T) {
	want := Clock{hz: 3e9, period: 1e9 / 3e9, floor: 11.5, step: 10, err: 0.3, stated: true}
	text, err := json.Marshal(want.Rating())
	if err != nil {
		t.Fatal(err)
	}
	var r Rating
	if err := json.Unmarshal(text, &r); err != nil {
		t.Fatal(err)
	}
	if got, ok := r.Clock(); !ok || got != want {
		t.Errorf("got %+v, %v; want %+v", got, ok, want)
	}
}

func TestRatingRefuses(t *testing.T) {
	for _, r := range []Rating{
		{}, {Hz: -1}, {Hz: math.NaN()}, {Hz: math.Inf(1)}, {Hz: 1e9, Floor: math.NaN()}, {Hz: 1e9, Floor: -1}, {Hz: 1e9, Step: -1},
	} {
		if c, ok := r.Clock(); ok {
			t.Errorf("%+v gave the clock %+v", r, c)
		}
	}
}
