//go:build systematic && simulate

package simulate

import (
	"bytes"
	"embed"
	"encoding/csv"
	"fmt"
	"slices"
	"strconv"
)

//go:embed testdata/*.csv
var files embed.FS

// A Point is the published median of a case.
type Point struct {
	Host    string // the data's name
	Section string // "200/1000": ns in the section / ns between two acquisitions
	Lock    string // a twin's name
	Workers int
	NS      float64 // per acquisition, of all workers together
}

func published(file string) ([]Point, error) {
	b, err := files.ReadFile("testdata/" + file)
	if err != nil {
		return nil, fmt.Errorf("validate: %w", err)
	}
	r := csv.NewReader(bytes.NewReader(b))
	r.FieldsPerRecord = 5
	rows, err := r.ReadAll()
	if err != nil {
		return nil, fmt.Errorf("validate: %s: %w", file, err)
	}
	var points []Point
	for i, row := range rows[1:] {
		workers, err1 := strconv.Atoi(row[3])
		ns, err2 := strconv.ParseFloat(row[4], 64)
		if err1 != nil || err2 != nil || workers < 1 || !(ns > 0) {
			return nil, fmt.Errorf("validate: %s, line %d: no number of workers or no time: %v", file, i+2, row)
		}
		points = append(points, Point{row[0], row[1], row[2], workers, ns})
	}
	return points, nil
}

// A Series is published data of one host, and the corresponding modelled machine.
type Series struct {
	File    string
	Host    string
	Machine string

	// Loop is the measuring program's own time per acquisition, ns.
	Loop float64

	// Apart reports that a core has one worker, though the machine has more threads.
	// Spread reports that neighbours are on different sockets.
	Apart, Spread bool
}

// All are the published series. Loop of lockhammer is the mean time of swap_mutex and
// ticket_spinlock with one thread beyond their time in the model; of lockbench it is a guess.
var All = []Series{
	{File: "lockhammer.csv", Host: "x86-4", Machine: "broadwell-2x10", Loop: 9},
	{File: "lockhammer.csv", Host: "x86-3", Machine: "broadwell-2x22", Loop: 9.5},
	{File: "lockhammer.csv", Host: "x86-2", Machine: "skylake-24", Loop: 5},
	{File: "lockhammer.csv", Host: "x86-1", Machine: "naples-32", Loop: 8.5},
	{File: "lockbench.csv", Host: "xeon-e5-2650l-v3", Machine: "haswell-2x12", Loop: 2, Apart: true, Spread: true},
	{File: "lockbench.csv", Host: "graviton2", Machine: "graviton2-64", Loop: 2, Apart: true},
}

func (s Series) points() ([]Point, error) {
	all, err := published(s.File)
	if err != nil {
		return nil, err
	}
	all = slices.DeleteFunc(all, func(p Point) bool { return p.Host != s.Host })
	if len(all) == 0 {
		return nil, fmt.Errorf("validate: %s has nothing of %s", s.File, s.Host)
	}
	return all, nil
}
