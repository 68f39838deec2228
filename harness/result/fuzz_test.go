package result

import "testing"

func FuzzMerge(f *testing.F) {
	seats := oneClock()[:2]
	w := workload(3, 2)
	parts := splitHolds(w, drawHolds(1, 3), seats)
	for _, p := range parts {
		p.Holds, p.BucketCounts = p.Holds[:20], nil
		p.Ops = 20
	}
	f.Add(encodeAll(f, parts[0]), encodeAll(f, parts[1]))
	parts[0].Ranks[0].Clock = "other"
	f.Add(encodeAll(f, parts[0]), encodeAll(f, parts[1]))
	parts[1].Ranks[0].Offset = -1 << 63
	f.Add(encodeAll(f, parts[0]), encodeAll(f, parts[1]))
	f.Fuzz(func(t *testing.T, a, b []byte) {
		x, errX := Decode(a)
		y, errY := Decode(b)
		if errX != nil || errY != nil || x.Result == nil || y.Result == nil {
			return
		}
		whole := runs(seats)
		whole[0].Results, whole[1].Results = append(whole[0].Results, x.Result), append(whole[1].Results, y.Result)
		run, err := Merge(whole)
		if err != nil {
			return
		}
		if len(run.Results) == 0 && len(run.Manifest.Lost) == 0 {
			t.Error("it is neither merged nor lost")
		}
		for _, r := range run.Results {
			line := encodeRecord(t, Record{Result: r})
			if _, err := Decode(line); err != nil {
				t.Error(err)
			}
		}
	})
}
