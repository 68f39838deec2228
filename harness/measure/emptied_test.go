package measure

import (
	"encoding/json"
	"fmt"
	"runtime"
	"testing"
	"time"

	"locklab/harness"
)

// TestEmptied: ranks meet although the server is emptied after one has seen the other.
func TestEmptied(t *testing.T) {
	sync := parallel(t)
	var all [2]*assembly
	for r := range all {
		o := RankOptions{Rank: r, Ranks: 2, Sync: sync, Job: jobOf(t), expiry: 30 * time.Second}
		b, err := o.connect(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer b.leave(t.Context())
		all[r] = &assembly{Ranks: &Ranks{options: o, board: b}, own: claim{Nonce: fmt.Sprint(r), Ranks: 2}, self: []byte("{}")}
		if b.value, err = json.Marshal(all[r].own); err != nil {
			t.Fatal(err)
		}
	}
	all[0].step(t.Context())
	all[1].step(t.Context()) // it has seen all claims, and posts
	if all[1].run == "" {
		t.Fatal("rank 1 does not see rank 0")
	}
	empty(t, all[0].board)
	met := [2]bool{}
	for range 6 { // rank 0 is back before rank 1 has noticed anything
		for r, a := range all {
			done, err := a.step(t.Context())
			if met[r] = met[r] || done; err != nil {
				t.Errorf("rank %d: %v", r, err)
			}
		}
	}
	if met != [2]bool{true, true} {
		t.Errorf("after the server was emptied they met: %v", met)
	}
}

func empty(t *testing.T, b *board) {
	t.Helper()
	keys, err := b.client.Keys(t.Context(), b.key("*")).Result()
	if err == nil {
		err = b.client.Del(t.Context(), keys...).Err()
	}
	if err != nil || len(keys) < 2 {
		t.Fatalf("removed %q, %v", keys, err)
	}
}

func TestDistinct(t *testing.T) {
	const a, b = "3f2a9c10-0000-4000-8000-000000000001", "77777777-0000-4000-8000-000000000002"
	at := func(host, clock string) Rank { return Rank{Host: host, Clock: clock} }
	for _, c := range []struct {
		members []Rank
		want    []string
	}{
		{[]Rank{at("localhost", a+" time:[1]"), at("localhost", b+" time:[1]"), at("other", a+" time:[1]")}, []string{"localhost~3f2a9c10", "localhost~77777777", "other"}},
		{[]Rank{at("localhost", a+" time:[1]"), at("localhost", a+" time:[2]")}, []string{"localhost", "localhost"}}, // one kernel
		{[]Rank{at("mac", "process 1 X"), at("mac", "process 2 Y")}, []string{"mac", "mac"}},                         // which does not report it
		{[]Rank{at("mac", "process 1 X"), at("mac", b+" time:none")}, []string{"mac", "mac~77777777"}},
	} {
		for r, m := range distinct(c.members) {
			if m.Host != c.want[r] {
				t.Errorf("%+v: rank %d is on %s, want %s", c.members, r, m.Host, c.want[r])
			}
		}
	}
	if boot := (harness.Rank{Clock: RankClockName(), Host: "here"}).Machine(); runtime.GOOS == "linux" && len(boot) != len(a) {
		t.Errorf("the boot of the clock %q is called %q", RankClockName(), boot)
	}
}
