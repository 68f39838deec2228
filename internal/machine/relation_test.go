package machine

import (
	"slices"
	"testing"
)

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
		if got := tc.a.Relation(tc.b); got != tc.want {
			t.Errorf("%+v and %+v: %v, want %v", tc.a, tc.b, got, tc.want)
		}
		if got := tc.b.Relation(tc.a); got != tc.want {
			t.Errorf("%+v and %+v: %v, want %v", tc.b, tc.a, got, tc.want)
		}
	}
	two := Topology{here, at(1, 1, 1, 0, 0)}
	for _, tc := range []struct {
		a, b int
		want Relation
	}{{0, 1, SameNode}, {0, 6, Unknown}, {9, 9, SameCPU}} {
		if got := two.Relation(tc.a, tc.b); got != tc.want {
			t.Errorf("CPUs %d and %d: %v, want %v", tc.a, tc.b, got, tc.want)
		}
	}
}

func TestRelationNames(t *testing.T) {
	var names []string
	for r := SameCPU; r <= Unknown; r++ {
		names = append(names, r.String())
	}
	if len(names) != len(relationNames) || slices.Contains(names, "") {
		t.Errorf("names %q", names)
	}
	if n := len(slices.Compact(slices.Sorted(slices.Values(names)))); n != len(names) {
		t.Errorf("%d of %d names differ", n, len(names))
	}
	for _, r := range []Relation{-1, Unknown + 1} {
		if r.String() != "unknown" {
			t.Errorf("relation %d is %q", int(r), r)
		}
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
		if last != 1 {
			t.Errorf("%s: %d groups of anything", f.name, last)
		}
	}
}
