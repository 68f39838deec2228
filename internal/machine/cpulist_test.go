package machine

import "testing"

func TestListCPUs(t *testing.T) {
	for _, tc := range []struct {
		cpus []int
		want string
	}{
		{nil, ""},
		{[]int{3}, "3"},
		{[]int{0, 1}, "0,1"},
		{[]int{0, 1, 2, 3, 8}, "0-3,8"},
		{[]int{0, 2, 1, 3, 4, 6, 5, 7}, "0,2,1,3,4,6,5,7"},
		{[]int{0, 2, 4, 5, 6}, "0,2,4-6"},
	} {
		if got := ListCPUs(tc.cpus); got != tc.want {
			t.Errorf("ListCPUs(%v) = %q, want %q", tc.cpus, got, tc.want)
		}
	}
}
