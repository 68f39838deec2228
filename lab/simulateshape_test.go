package lab

import (
	"slices"
	"testing"

	"locklab/harness"
	"locklab/harness/simulate"

	"locklab/internal/machine"
)

func TestWorkerCounts(t *testing.T) {
	two := &simulate.Machine{Sockets: 2, Clusters: 1, Cores: 22, SMT: 2} // 88 threads
	for text, want := range map[string][]int{
		"":         {1, 2, 4, 8, 16, 22, 32, 44, 64},
		"1..":      {1, 2, 4, 8, 16, 22, 32, 44, 64, 88},
		"3..20":    {3, 4, 8, 16, 20},
		"5":        {5},
		"8,2,1..4": {1, 2, 4, 8},
		"1..256":   {1, 2, 4, 8, 16, 22, 32, 44, 64, 88, 128, 256}, // rejected later, with the reason
	} {
		got, err := workerCounts(text, two)
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%q is %v, %v; want %v", text, got, err, want)
		}
	}
}

func TestShapeOf(t *testing.T) {
	// place gives thread th of core c of cache k of package p.
	place := func(cpu, th, c, k, p int) machine.Place {
		return machine.Place{CPU: cpu, Thread: th, Core: c, Cache: k, Node: p, Package: p}
	}
	var even machine.Topology
	for i := range 16 { // 2 packages of 2 caches of 2 cores of 2 threads
		even = append(even, place(i, i%2, i/2*2, i/4*4, i/8))
	}
	odd := machine.Topology{place(0, 0, 0, 0, 0), place(1, 0, 1, 0, 0), place(2, 0, 2, 2, 1)}
	untold := machine.Topology{{CPU: 0, Core: 0, Cache: -1, Node: -1, Package: -1}, {CPU: 1, Core: 1, Cache: -1, Node: -1, Package: -1}}
	for _, c := range []struct {
		t    machine.Topology
		want [4]int
	}{{even, [4]int{2, 2, 2, 2}}, {odd, [4]int{1, 1, 3, 1}}, {untold, [4]int{1, 1, 2, 1}}} {
		m, err := shapeOf(c.t)
		if err != nil {
			t.Fatal(err)
		}
		if got := [4]int{m.Sockets, m.Clusters, m.Cores, m.SMT}; got != c.want {
			t.Errorf("%v has the shape %v, want %v", c.t, got, c.want)
		}
	}

	field := harness.Table{Chart: harness.Heat}
	for _, name := range []string{"0", "1", "2", "4", "8"} {
		field.Columns = append(field.Columns, harness.Column{Name: name})
		field.Rows = append(field.Rows, harness.Row{Label: name, Cells: make([]harness.Cell, 5)})
	}
	ns := func(i, j int, x float64) { field.Rows[i].Cells[j] = harness.Cell{Median: x, N: 9} }
	ns(0, 1, 8)   // siblings
	ns(0, 2, 20)  // one cache
	ns(1, 2, 30)  // one cache
	ns(0, 4, 150) // other package
	finding := &harness.Finding{Tables: []harness.Table{field}}
	if times, err := transfers(finding, even); err != nil || times != [4]float64{8, 25, 25, 150} {
		t.Errorf("transfers are %v, %v", times, err)
	}
	for _, row := range field.Rows {
		clear(row.Cells)
	}
	ns(1, 2, 30)
	if times, err := transfers(finding, even); err != nil || times != [4]float64{30, 30, 30, 30} {
		t.Errorf("transfers of one pair are %v, %v", times, err)
	}
	if _, err := transfers(&harness.Finding{}, even); err == nil {
		t.Error("a finding without a field is accepted")
	}
}
