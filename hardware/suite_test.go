package hardware_test

import (
	"bytes"
	"testing"
	"time"

	"locklab/hardware"
	"locklab/harness/result"
	"locklab/spinlock/lab"
)

func TestSpinLocksKeepTheSectionToOne(t *testing.T) {
	for _, e := range hardware.Suite {
		if e.Name != "lost-updates" {
			continue
		}
		f, err := hardware.Run(t.Context(), e, hardware.Options{Repeats: 1, Budget: 10 * time.Millisecond, Locks: lab.Suite})
		if err != nil {
			t.Fatal(err)
		}
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
		show(t, f)
		return
	}
	t.Fatal("no such experiment")
}

func show(t *testing.T, f *result.Finding) {
	var out bytes.Buffer
	if err := hardware.Write(&out, f); err != nil {
		t.Error(err)
	}
	t.Log(out.String())
}
