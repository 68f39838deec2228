package machine

import (
	"slices"
	"testing"
	"testing/fstest"

	"locklab/internal/require"
)

func TestReadCachesDistrustsFiles(t *testing.T) {
	const cache = "sys/devices/system/cpu/cpu4/cache/"
	fsys := fstest.MapFS{
		cache + "index0/level":               {Data: []byte("1\n")},
		cache + "index0/shared_cpu_list":     {Data: []byte("0-1\n")}, // not 4
		cache + "index0/coherency_line_size": {Data: []byte("-64\n")},
		cache + "index0/size":                {Data: []byte("big\n")},
		cache + "index1/level":               {Data: []byte("0\n")},
		cache + "index2/level":               {Data: []byte("2\n")}, // behind the last
	}
	got := ReadCaches(fsys, []int{4})
	if want := []Cache{{Level: 1, Count: 1}}; !slices.Equal(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
	require.Equal(t, "the last cache", readLastCache(fsys, 4), untold)
}

func TestParseKiB(t *testing.T) {
	for text, want := range map[string]int{
		"32K": 32, "0K": 0, "8M": 8192, "1G": 1 << 20, "": 0, "K": 0, "32": 0, "-1K": 0, "+1K": 0, "99999999999K": 0, "2147483647G": 0,
	} {
		require.Equal(t, text, parseKiB(text), want)
	}
}
