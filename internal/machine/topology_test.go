package machine

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"locklab/internal/require"
)

func TestCPUOrderRules(t *testing.T) {
	for _, f := range fixtures(t) {
		for choice := 1; choice < 1<<len(f.cpus); choice++ {
			var cpus []int
			for i, cpu := range f.cpus {
				if choice>>i&1 == 1 {
					cpus = append(cpus, cpu)
				}
			}
			ps := readTopology(f.fsys, cpus)
			order := ps.CPUs()
			if slices.Sort(order); !slices.Equal(order, cpus) {
				t.Fatalf("%s: %v is not an order of %v", f.name, ps.CPUs(), cpus)
			}
			cores := ps.parts(func(p Place) int { return p.Core })
			if first := ps[:cores]; first.parts(func(p Place) int { return p.Core }) != cores {
				t.Errorf("%s: %v puts siblings before the last core", f.name, ps.CPUs())
			}
			for _, key := range []func(Place) int{
				func(p Place) int { return p.Package },
				func(p Place) int { return p.Cache },
			} {
				if n := countChanges(ps[:cores], key); n != max(1, ps[:cores].parts(key))-1 {
					t.Errorf("%s: %v leaves a socket or cache and comes back", f.name, ps.CPUs())
				}
			}
		}
	}
}

func countChanges(ps Topology, key func(Place) int) (n int) {
	for i := range len(ps) - 1 {
		if key(ps[i]) != key(ps[i+1]) {
			n++
		}
	}
	return n
}

func TestCPUOrderBySocketAlone(t *testing.T) {
	fsys := fstest.MapFS{}
	for cpu, socket := range []string{"0", "1", "0", "1"} {
		fsys[fmt.Sprintf("sys/devices/system/cpu/cpu%d/topology/physical_package_id", cpu)] = &fstest.MapFile{Data: []byte(socket)}
	}
	if got, want := readTopology(fsys, []int{0, 1, 2, 3}).CPUs(), []int{0, 2, 1, 3}; !slices.Equal(got, want) {
		t.Errorf("order %v, want %v", got, want)
	}
}

func TestReadTopologyDistrustsFiles(t *testing.T) {
	fsys := fstest.MapFS{
		"sys/devices/system/cpu/cpu4/topology/core_cpus_list": {Data: []byte("0-1\n")}, // not 4
		"sys/devices/system/node/nodeX/cpulist":               {Data: []byte("4\n")},
	}
	ps := readTopology(fsys, []int{4, 5})
	require.Equal(t, "the first place", ps[0], (Place{CPU: 4, Core: 4, Cache: -1, Node: -1, Package: -1}))
}

func TestParseCPUList(t *testing.T) {
	for _, tc := range []struct {
		text string
		want []int
	}{
		{"0\n", []int{0}},
		{"0-3,8", []int{0, 1, 2, 3, 8}},
		{"8,0-1,1", []int{0, 1, 8}},
		{"", nil},
		{"3-1", nil},
		{"0-", nil},
		{"-1", nil},
		{"0,x", nil},
		{"0-4294967295", nil},
		{"65536", nil},
	} {
		if got := parseCPUList(tc.text); !slices.Equal(got, tc.want) {
			t.Errorf("parseCPUList(%q) = %v, want %v", tc.text, got, tc.want)
		}
	}
}

func FuzzParseCPUList(f *testing.F) {
	for _, text := range []string{"", "0", "0-3,8\n", "1,1", "5-2", "0-4294967295", strings.Repeat("0-65535,", 100)} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		cpus := parseCPUList(text)
		if !slices.IsSorted(cpus) || len(slices.Compact(slices.Clone(cpus))) != len(cpus) {
			t.Errorf("%v is not sorted or has duplicates", cpus)
		}
		if len(cpus) == 0 {
			return
		}
		if cpus[0] < 0 || cpus[len(cpus)-1] >= maxCPU {
			t.Errorf("absurd processors %d to %d", cpus[0], cpus[len(cpus)-1])
		}
		if again := strings.ReplaceAll(strings.Trim(fmt.Sprint(cpus), "[]"), " ", ","); !slices.Equal(parseCPUList(again), cpus) {
			t.Errorf("%q is read differently when written out", text)
		}
	})
}

func TestRelation(t *testing.T) {
	at := func(cpu, core, cache, node, pkg int) Place {
		return Place{CPU: cpu, Core: core, Cache: cache, Node: node, Package: pkg}
	}
	here := at(0, 0, 0, 0, 0)
	for _, tc := range []struct {
		a, b Place
		want Relation
	}{
		{here, here, SameCPU},
		{here, at(1, 0, 0, 0, 0), SMTSiblings},
		{here, at(1, 1, 0, 0, 0), SameCache},
		{here, at(1, 1, 0, 1, 1), SameCache}, // the cache is believed
		{here, at(1, 1, 1, 0, 0), SameNode},
		{here, at(1, 1, 1, 1, 0), SamePackage},
		{here, at(1, 1, 1, 1, 1), OtherPackage},
		{here, at(1, 1, 1, 0, 1), OtherPackage}, // a guest with one node for two sockets
		{at(0, 0, -1, 0, 0), at(1, 1, -1, 0, 0), SameNode},
		{at(0, 0, -1, -1, 0), at(1, 1, -1, -1, 0), SamePackage},
		{at(0, 0, -1, -1, 0), at(1, 1, -1, 0, 0), SamePackage},
		{at(0, 0, -1, -1, 0), at(1, 1, -1, -1, 1), OtherPackage},
		{at(0, 0, -1, 0, -1), at(1, 1, -1, 0, -1), SameNode},
		{at(0, 0, -1, 0, -1), at(1, 1, -1, 1, -1), OtherNode},
		{at(0, 0, -1, -1, -1), at(1, 1, -1, -1, -1), Unknown},
		{at(0, 0, -1, -1, -1), at(1, 1, -1, -1, 0), Unknown},
		{at(0, 0, -1, -1, -1), here, SameCPU},
	} {
		require.Equal(t, fmt.Sprintf("%+v and %+v", tc.a, tc.b), tc.a.Relation(tc.b), tc.want)
		require.Equal(t, fmt.Sprintf("%+v and %+v", tc.b, tc.a), tc.b.Relation(tc.a), tc.want)
	}
	two := Topology{here, at(1, 1, 1, 0, 0)}
	for _, tc := range []struct {
		a, b int
		want Relation
	}{{0, 1, SameNode}, {0, 6, Unknown}, {9, 9, SameCPU}} {
		require.Equal(t, fmt.Sprintf("CPUs %d and %d", tc.a, tc.b), two.Relation(tc.a, tc.b), tc.want)
	}
}

// TestGroups: a wider relation makes no more groups, and every processor is in one.
func TestGroups(t *testing.T) {
	for _, f := range fixtures(t) {
		topology := readTopology(f.fsys, f.cpus)
		last := len(topology)
		for r := SameCPU; r <= Unknown; r++ {
			groups := topology.Groups(r)
			if len(groups) > last || len(groups) == 0 {
				t.Errorf("%s: %d groups within %v, %d within less", f.name, len(groups), r, last)
			}
			last = len(groups)
			all := slices.Concat(groups...)
			if slices.Sort(all); !slices.Equal(all, f.cpus) {
				t.Errorf("%s: groups within %v hold %v of %v", f.name, r, all, f.cpus)
			}
			for _, group := range groups {
				for _, cpu := range group {
					if got := topology.Relation(group[0], cpu); got > r {
						t.Errorf("%s: CPUs %d and %d are in one group within %v, but are %v", f.name, group[0], cpu, r, got)
					}
				}
			}
		}
		require.Equal(t, f.name+": groups of anything", last, 1)
	}
}

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
		require.Equal(t, fmt.Sprintf("ListCPUs(%v)", tc.cpus), ListCPUs(tc.cpus), tc.want)
	}
}
