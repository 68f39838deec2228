package machine

import (
	"slices"
	"testing"
	"testing/fstest"
)

func TestReadCachesOfFixtures(t *testing.T) {
	for _, tc := range []struct {
		fixture string
		want    []Cache
	}{
		{"intel", []Cache{
			{1, "data", 32, 64, 2, 4},
			{2, "unified", 1024, 64, 2, 4},
			{3, "unified", 28160, 64, 4, 2},
		}},
		{"biglittle", []Cache{
			{1, "data", 32, 64, 1, 6},
			{1, "instruction", 32, 64, 1, 4},
			{1, "instruction", 48, 64, 1, 2},
			{2, "unified", 1024, 64, 4, 1},
			{2, "unified", 2048, 64, 2, 1},
		}},
		{"empty", []Cache{}},
	} {
		f := readFixture(t, "testdata/"+tc.fixture+".txtar")
		if got := ReadCaches(f.fsys, f.cpus); !slices.Equal(got, tc.want) {
			t.Errorf("%s: %+v, want %+v", tc.fixture, got, tc.want)
		}
	}
}

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
	if got := readLastCache(fsys, 4); got != untold {
		t.Errorf("the last cache is %d", got)
	}
}

func TestCacheNames(t *testing.T) {
	for _, tc := range []struct {
		cache        Cache
		name, detail string
	}{
		{Cache{3, "unified", 32768, 64, 2, 1}, "L3 unified", "1 of 32768 KiB, lines of 64 B, 2 CPUs share one"},
		{Cache{1, "data", 32, 64, 1, 4}, "L1 data", "4 of 32 KiB, lines of 64 B, one CPU each"},
		{Cache{Level: 2, Count: 8}, "L2", "8"},
	} {
		if name, detail := tc.cache.Name(), tc.cache.Detail(); name != tc.name || detail != tc.detail {
			t.Errorf("%q: %q, want %q: %q", name, detail, tc.name, tc.detail)
		}
	}
}

func TestParseKiB(t *testing.T) {
	for text, want := range map[string]int{
		"32K": 32, "0K": 0, "8M": 8192, "1G": 1 << 20, "": 0, "K": 0, "32": 0, "-1K": 0, "+1K": 0, "99999999999K": 0, "2147483647G": 0,
	} {
		if got := parseKiB(text); got != want {
			t.Errorf("parseKiB(%q) = %d, want %d", text, got, want)
		}
	}
}
