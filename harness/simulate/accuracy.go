package simulate

import (
	"cmp"
	_ "embed"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"sync"
)

// A ValidationRecord is the model's error on one machine: for all locks, or for one.
type ValidationRecord struct {
	Machine string  `json:"machine"`
	Lock    string  `json:"lock,omitempty"` // the most similar lock of the lab; "" is all measured locks
	Points  int     `json:"points"`
	From    int     `json:"from"` // workers
	To      int     `json:"to"`
	Typical float64 `json:"typical"` // factor: e to the root mean square of the logarithms of model over measured
	Least   float64 `json:"least"`   // model over measured
	Most    float64 `json:"most"`
}

// Beware is the typical factor above which a sentence of [Accuracy] begins with a warning.
const Beware = 1.5

//go:embed accuracy.json
var recorded []byte

// ValidationRecords returns the program's results of the comparison.
var ValidationRecords = sync.OnceValue(func() []ValidationRecord {
	var all []ValidationRecord
	if err := json.Unmarshal(recorded, &all); err != nil {
		panic("validate: accuracy.json: " + err.Error()) // TestBeware has read it
	}
	return all
})

// Accuracy describes in one sentence the model's error, against published measurements, for a
// lock of the lab on m, or the evidence that exists instead.
func Accuracy(m *Machine, lock string) string {
	least, most := math.Inf(1), 1.0
	var all, like *ValidationRecord
	for _, r := range ValidationRecords() {
		switch {
		case r.Machine == m.Name && r.Lock == lock:
			like = &r
		case r.Machine == m.Name && r.Lock == "":
			all = &r
		}
		if r.Lock == "" {
			least, most = min(least, r.Typical), max(most, r.Typical)
		}
	}
	elsewhere := fmt.Sprintf("elsewhere the model is typically off by a factor of %.1f to %.1f", least, most)
	switch named, err := Named(m.Name); {
	case m.Hypothetical:
		return "Hypothetical: no machine of this size was measured; " + elsewhere + "."
	case all == nil || err != nil || !reflect.DeepEqual(m, named):
		return "No lock measured on such a machine is compared with the model; " + elsewhere + "."
	case like != nil:
		return fmt.Sprintf("%s off by a factor of %.2f (%.2f to %.2f of what was measured) for locks like it on such a machine, %d to %d workers, %s.",
			cmp.Or(beware(like, "typically"), "Typically"), like.Typical, like.Least, like.Most, like.From, like.To, basis(m))
	}
	return fmt.Sprintf("%s lock like it was measured on such a machine; others are typically off by a factor of %.2f (%.2f to %.2f of what was measured), %d to %d workers, %s.",
		cmp.Or(beware(all, "no"), "No"), all.Typical, all.Least, all.Most, all.From, all.To, basis(m))
}

func beware(r *ValidationRecord, word string) string {
	if r.Typical > Beware {
		return "Beware: " + word
	}
	return ""
}

func basis(m *Machine) string {
	if m.Evidence == Fitted {
		return "those of 8 and 16 without a section fitted"
	}
	return "none of them fitted"
}
