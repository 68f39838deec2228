package hardware_test

import (
	"slices"
	"testing"
	"time"

	"locklab/hardware"
	"locklab/internal/require"
	"locklab/spinlock/lab"
)

func TestSpinLocksKeepTheSectionToOne(t *testing.T) {
	i := slices.IndexFunc(hardware.Suite, func(e *hardware.Experiment) bool { return e.Name == "lost-updates" })
	f, err := hardware.Run(t.Context(), hardware.Suite[i], hardware.Options{Repeats: 1, Budget: 10 * time.Millisecond, Locks: lab.Suite})
	require.NoError(t, err)
	tables := f.Tables[2:]
	if len(tables) == 0 {
		t.Fatal("no locks")
	}
	for _, table := range tables {
		for _, r := range table.Rows {
			for i, c := range r.Cells {
				if isFailure := table.Columns[i].Unit == "per million"; isFailure != (c.Hi == 0) {
					t.Errorf("%s: %s: %s: %v", table.Caption, r.Label, table.Columns[i].Name, c)
				}
			}
		}
	}
}
