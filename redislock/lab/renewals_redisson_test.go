package lab

import (
	"errors"
	"slices"
	"testing"
)

func TestSlotOf(t *testing.T) {
	for key, want := range map[string]int{
		"123456789": 0x31c3, "foo": 12182, "bar": 5061, "{foo}bar": 12182, "bar{foo}{bar}": 12182,
		"": 0, nameOf("foo"): 12182,
	} {
		if got := slotOf(key); got != want {
			t.Errorf("%q: slot %d, want %d", key, got, want)
		}
	}
}

// TestRenewalRound: slots after one without an answer are not renewed.
func TestRenewalRound(t *testing.T) {
	var all []*renewed
	for _, slot := range []int{9000, 17, 3, 16, 8001} { // 8, 1, 3, 0 and 1 in the table
		all = append(all, &renewed{slot: slot})
	}
	var asked []int
	round(all, func(r *renewed) error {
		if asked = append(asked, r.slot); r.slot == 8001 {
			return errors.New("no answer")
		}
		return nil
	})
	if !slices.Equal(asked, []int{16, 17, 8001}) {
		t.Errorf("asked slots %v", asked)
	}
}
