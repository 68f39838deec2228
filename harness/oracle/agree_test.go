package oracle

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
)

var rules = Rules{Fenced: true}

func judged(h History, r Rules) bool {
	j := Judge(h, r)
	return len(j.Overlaps) > 0 || j.TokensFell > 0 || j.Unfounded > 0
}

func searched(h History, r Rules) LinearVerdict {
	j := Judge(h, r)
	r.Permits = max(1, r.Permits)
	w := &window{clients: make(map[int]bool)}
	for _, op := range raw(&j, r) {
		if op.call != never {
			w.add(op)
		}
	}
	v, _ := w.check(start(), r, LinearOptions{Timeout: 100 * time.Millisecond}.filled(), time.Now().Add(time.Minute))
	return v
}

// TestAgreement checks that the oracle, porcupine on windows, and porcupine on the whole
// reject the same histories.
func TestAgreement(t *testing.T) {
	const seeds = 300
	right, wrong, undecided := 0, 0, 0
	broke := make([]int, len(mutators))
	for seed := range uint64(seeds) {
		valid := simulate(rand.New(rand.NewPCG(seed, 1)))
		if judged(valid, rules) || CheckLinear(valid, rules, LinearOptions{}).Verdict != Proven {
			t.Fatalf("seed %d: a valid history: the oracle finds %v, porcupine %+v\n%s", seed, Judge(valid, rules).Notes, CheckLinear(valid, rules, LinearOptions{}), dump(valid))
		}
		for i, m := range mutators {
			h := m.do(rand.New(rand.NewPCG(seed, uint64(2+i))), slices.Clone(valid))
			h.Sort()
			bad, windows := judged(h, rules), check(h, rules, LinearOptions{}, 1+i%3)
			if bad {
				wrong++
				broke[i]++
			} else {
				right++
			}
			want := map[bool]LinearVerdict{false: Proven, true: Violated}[bad]
			if windows.Verdict != want {
				t.Fatalf("seed %d, %s: the oracle finds %v, porcupine %+v\n%s", seed, m.name, Judge(h, rules).Notes, windows, dump(h))
			}
			switch whole := searched(h, rules); whole {
			case NotProven:
				undecided++
			case want:
			default:
				t.Fatalf("seed %d, %s: the oracle finds %v, porcupine on the whole %v\n%s", seed, m.name, Judge(h, rules).Notes, whole, dump(h))
			}
		}
	}
	t.Logf("%d histories are right and %d wrong; in one piece %d are not proven", right, wrong, undecided)
	// In one piece, holds of holders that were killed or notified have no known end:
	// some histories have more than eight of them. In windows all are decided.
	if undecided > (right+wrong)/10 {
		t.Errorf("%d of %d histories are not proven in one piece", undecided, right+wrong)
	}
	for i, n := range broke {
		if name := mutators[i].name; n == 0 && name != "failed, not refused" && name != "a late grant" {
			t.Errorf("%q broke none of %d histories: it tests nothing", name, seeds)
		}
	}
	if right < seeds {
		t.Errorf("only %d of %d histories were right", right, right+wrong)
	}
}

// TestAgreementWithPermits does the same for grants and releases of a lock with several
// permits, including readers.
func TestAgreementWithPermits(t *testing.T) {
	right, wrong := 0, 0
	for seed := range uint64(1500) {
		rng := rand.New(rand.NewPCG(seed, 99))
		r := Rules{Permits: 2 + rng.IntN(3)}
		var h History
		for w := range r.Permits + 1 + rng.IntN(2) {
			for at := rng.Int64N(9); at < 30; at += 1 + rng.Int64N(30) {
				shared := rng.IntN(12) == 0
				h = append(h, Event{At: at, Worker: w, Kind: Asked, Shared: shared})
				at += rng.Int64N(3)
				h = append(h, Event{At: at, Worker: w, Kind: Granted, Shared: shared})
				at += rng.Int64N(9)
				h = append(h, Event{At: at, Worker: w, Kind: Releasing})
				at += rng.Int64N(3)
				h = append(h, Event{At: at, Worker: w, Kind: Released})
			}
		}
		h.Sort()
		bad, got := judged(h, r), CheckLinear(h, r, LinearOptions{})
		if want := map[bool]LinearVerdict{false: Proven, true: Violated}[bad]; got.Verdict != want {
			t.Fatalf("seed %d, %d permits: the oracle finds %v, porcupine %+v\n%s", seed, r.Permits, Judge(h, r).Notes, got, dump(h))
		}
		if bad {
			wrong++
		} else {
			right++
		}
	}
	t.Logf("%d are right, %d wrong", right, wrong)
	if right < 100 || wrong < 100 {
		t.Errorf("%d histories are right and %d wrong: too few of one", right, wrong)
	}
}

// TestDeterministicModel shows why the model is nondeterministic. Two clients asked
// without an answer. In a deterministic model every operation must take effect, so both
// have the lock, and it rejects a correct history.
func TestDeterministicModel(t *testing.T) {
	h := History{
		{At: 1, Worker: 1, Kind: Asked},
		{At: 2, Worker: 2, Kind: Asked},
		{At: 3, Worker: 3, Kind: Asked},
		{At: 4, Worker: 3, Kind: Granted, Token: 1},
	}
	j := Judge(h, rules)
	naive := porcupine.Model{
		Init: func() any { return start() },
		Step: func(s, in, _ any) (bool, any) {
			op := in.(input)
			if op.kind == attempt {
				op.kind = acquire
			}
			next, ok := s.(state).step(op, 1, true)
			return ok, next
		},
	}
	w := &window{clients: make(map[int]bool)}
	for _, op := range raw(&j, rules) {
		if op.call != never {
			w.add(op)
		}
	}
	if porcupine.CheckOperations(naive, w.porcupine()) {
		t.Error("the deterministic model accepts the history: it is no trap")
	}
	if got := CheckLinear(h, rules, LinearOptions{}); got.Verdict != Proven {
		t.Errorf("%+v, want proven", got)
	}
}
